package dynamodb

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"

	"brunt/internal/load/gen"
	"brunt/internal/protocol"
)

type object map[string]any

// attribute is the content of an attribute. brunt writes strings and bytes; tables of others may have any type
// (AttributeValue in Amazon's API reference).
type attribute struct {
	S    *string         `json:",omitempty"`
	B    []byte          `json:",omitempty"`
	N    *string         `json:",omitempty"`
	BOOL *bool           `json:",omitempty"`
	NULL bool            `json:",omitempty"`
	L    json.RawMessage `json:",omitempty"`
	M    json.RawMessage `json:",omitempty"`
	SS   json.RawMessage `json:",omitempty"`
	NS   json.RawMessage `json:",omitempty"`
	BS   json.RawMessage `json:",omitempty"`
}

// content returns an attribute's content: bytes and strings as they are, numbers and booleans as text, and collections
// in the API's JSON. A null has none.
func (a attribute) content() (content []byte, ok bool) {
	switch {
	case a.NULL:
		return nil, false
	case a.S != nil:
		return []byte(*a.S), true
	case a.N != nil:
		return []byte(*a.N), true
	case a.BOOL != nil:
		return strconv.AppendBool(nil, *a.BOOL), true
	}
	for _, collection := range []json.RawMessage{a.L, a.M, a.SS, a.NS, a.BS} {
		if collection != nil {
			return collection, true
		}
	}
	return a.B, true
}

// pack sets v to the attribute with its type, in the API's JSON. It returns false for bytes, which need none, and for
// a null, which is one for brunt, too.
func (a attribute) pack(v *gen.Value) bool {
	if a.NULL || a.B != nil {
		return false
	}
	text, err := json.Marshal(a)
	if err != nil {
		return false // it was decoded from JSON
	}
	v.Kind, v.B = gen.Packed, append(v.B[:0], text...)
	return true
}

type item map[string]attribute

// answer holds the parts of all operations' answers that matter.
type answer struct {
	Item             item
	Items            []item
	LastEvaluatedKey item
	Responses        map[string][]item
	UnprocessedKeys  map[string]any
	UnprocessedItems map[string]any
	Table            struct{ TableStatus string }

	bytes int64
}

// maxAnswer is the maximum size of an answer in bytes; the service's own limit is 16 MB.
const maxAnswer = 64 << 20

// call sends one request and reads its answer.
func (c *conn) call(ctx context.Context, operation string, body object, into *answer) *protocol.Error {
	text, err := json.Marshal(body)
	if err != nil {
		return protocol.Bad("%v", err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url, bytes.NewReader(text))
	if err != nil {
		return protocol.Bad("%s", protocol.Line(err.Error(), c.secret))
	}
	req.Header.Set("Content-Type", "application/x-amz-json-1.0")
	req.Header.Set("X-Amz-Target", "DynamoDB_20120810."+operation)
	sum := sha256.Sum256(text)
	if err := c.signer.SignHTTP(ctx, c.credentials, req, hex.EncodeToString(sum[:]), "dynamodb", c.options.region,
		c.now()); err != nil {
		return protocol.Bad("sign: %s", protocol.Line(err.Error(), c.secret))
	}
	resp, err := c.client.Do(req)
	if err != nil {
		return c.failure(ctx, err)
	}
	defer resp.Body.Close()
	answered, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return c.failure(ctx, err)
	}
	into.bytes += int64(len(answered))
	if resp.StatusCode != http.StatusOK {
		return refused(resp.StatusCode, answered, c.secret)
	}
	if err := json.Unmarshal(answered, into); err != nil {
		return &protocol.Error{Class: protocol.Protocol, Text: "the answer isn't DynamoDB's JSON: " +
			protocol.Line(err.Error(), c.secret), Err: err}
	}
	return nil
}

// refused classifies an answer with a status other than 200.
func refused(status int, body []byte, secret string) *protocol.Error {
	var said struct {
		Type    string `json:"__type"`
		Message string `json:"message"`
		Capital string `json:"Message"`
	}
	e := &protocol.Error{Class: protocol.Server, Code: fmt.Sprint(status)}
	if json.Unmarshal(body, &said) != nil || said.Type == "" {
		e.Class, e.Text = protocol.Protocol, fmt.Sprintf("HTTP status %d without DynamoDB's JSON", status)
		if status >= 500 {
			e.Class = protocol.UnknownOutcome
		}
		return e
	}
	e.Code = said.Type[strings.LastIndexByte(said.Type, '#')+1:]
	e.Text = protocol.Line(said.Message+said.Capital, secret)
	if e.Text == "" {
		e.Text = e.Code
	}
	switch e.Code {
	case "ProvisionedThroughputExceededException", "ThrottlingException", "RequestLimitExceeded",
		"TransactionConflictException",
		"LimitExceededException", "ServiceUnavailable", "ServiceUnavailableException", "ReplicatedWriteConflictException":
		e.Class = protocol.Retryable
	case "InternalServerError", "InternalFailure":
		e.Class = protocol.UnknownOutcome
	}
	return e
}

// failure classifies an error of the transport.
func (c *conn) failure(ctx context.Context, err error) *protocol.Error {
	e := protocol.Unanswered(ctx, c.current, err, c.secret)
	text := protocol.Line(err.Error(), c.secret)
	if !protocol.IsLate(ctx, err) && (strings.Contains(text, "connection refused") || strings.Contains(text, "dial tcp")) {
		e.Class, e.Text = protocol.Connect, text
	}
	return e
}
