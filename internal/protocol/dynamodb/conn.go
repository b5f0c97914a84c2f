package dynamodb

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"brunt/internal/load/gen"
	"brunt/internal/protocol"
	"brunt/internal/protocol/kv"

	"github.com/aws/aws-sdk-go-v2/aws"
	signer "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
)

// conn is a session: an HTTP client with one connection.
type conn struct {
	client      *http.Client
	signer      *signer.Signer
	credentials aws.Credentials
	url         string
	options     options
	kv.Requests
	secret  string
	now     func() time.Time
	current *protocol.Request // the current request; nil if it isn't part of a program
}

// Do executes one request.
func (c *conn) Do(ctx context.Context, req *protocol.Request, args []gen.Value, reply *protocol.Reply) {
	r := c.Begin(req, args, reply)
	if r == nil {
		return
	}
	c.current = req
	var a answer
	var f *protocol.Error
	switch {
	case r.Rows > 1 && r.Verb == protocol.Read:
		f = c.readBatch(ctx, r, args, &a, reply)
	case r.Rows > 1:
		f = c.writeBatch(ctx, r, args, &a, reply)
	case r.Verb == protocol.Read:
		if f = c.call(ctx, "GetItem", c.getting(r, args), &a); f == nil {
			reply.Missing = a.Item == nil
			c.take(r, a.Item, reply)
		}
	case r.Verb == protocol.Scan:
		f = c.scan(ctx, r, args, &a, reply)
	default:
		f = c.write(ctx, r, args, &a, reply)
	}
	reply.BytesIn = a.bytes
	if f != nil {
		reply.Fail(f)
	}
}

// take adds an item to the reply, unless it is nil.
func (c *conn) take(r *kv.Request, it item, reply *protocol.Reply) {
	if it == nil {
		return
	}
	field := func(name string) ([]byte, bool) {
		v, ok := it[name]
		if !ok {
			return nil, false
		}
		return v.content()
	}
	key, _ := field(c.options.key)
	r.Take(reply, kv.Record{Key: key, Field: field, Names: func() []string {
		return slices.DeleteFunc(slices.Sorted(maps.Keys(it)), func(name string) bool { return name == c.options.key })
	}, Own: func(name string, v *gen.Value) bool {
		a, ok := it[name]
		return ok && a.pack(v)
	}})
}

// key returns an argument as a key: text, or a captured attribute with the type that it had.
func (c *conn) key(v *gen.Value) object {
	if v.Kind == gen.Packed {
		return object{c.options.key: json.RawMessage(v.B)}
	}
	return object{c.options.key: object{"S": kv.Text(v)}}
}

// attributeOf returns an argument as an attribute: bytes, null, or a captured attribute with the type that it had.
func attributeOf(v *gen.Value) any {
	switch v.Kind {
	case gen.Null:
		return attribute{NULL: true}
	case gen.Packed:
		return json.RawMessage(v.B)
	}
	return object{"B": kv.AppendText([]byte{}, v)}
}

// projection restricts a read to the request's fields and, if with is true, the key.
func (c *conn) projection(r *kv.Request, body object, with bool) object {
	if len(r.Fields) == 0 {
		return body
	}
	fields := r.Fields
	if with {
		fields = append([]string{c.options.key}, fields...)
	}
	names, list := object{}, make([]string, len(fields))
	for i, f := range fields {
		list[i] = fmt.Sprintf("#f%d", i)
		names[list[i]] = f
	}
	body["ProjectionExpression"], body["ExpressionAttributeNames"] = strings.Join(list, ","), names
	return body
}

func (c *conn) getting(r *kv.Request, args []gen.Value) object {
	return c.projection(r, object{"TableName": r.Table, "Key": c.key(&args[0]), "ConsistentRead": c.options.consistent},
		false)
}

// scan reads the record with the key, then records in the order of the hashes of their keys.
func (c *conn) scan(ctx context.Context, r *kv.Request, args []gen.Value, a *answer,
	reply *protocol.Reply) *protocol.Error {
	count, refused := kv.Count(args)
	if refused != nil {
		return refused
	}
	if f := c.call(ctx, "GetItem", c.getting(r, args), a); f != nil {
		return f
	}
	c.take(r, a.Item, reply)
	from := any(c.key(&args[0]))
	for reply.Rows < int64(count) {
		body := object{"TableName": r.Table, "ExclusiveStartKey": from, "ConsistentRead": c.options.consistent,
			"Limit": int64(count) - reply.Rows}
		a.Items, a.LastEvaluatedKey = nil, nil
		if f := c.call(ctx, "Scan", c.projection(r, body, false), a); f != nil {
			return f
		}
		for _, it := range a.Items {
			c.take(r, it, reply)
		}
		if a.LastEvaluatedKey == nil {
			return nil
		}
		from = a.LastEvaluatedKey
	}
	return nil
}

// itemOf returns a complete record.
func (c *conn) itemOf(r *kv.Request, args []gen.Value) object {
	it := c.key(&args[0])
	for i, f := range r.Fields {
		it[f] = attributeOf(&args[1+i])
	}
	return it
}

// write writes one record. Updates and deletes require that the record exists, so that a missing one is noticed.
func (c *conn) write(ctx context.Context, r *kv.Request, args []gen.Value, a *answer,
	reply *protocol.Reply) *protocol.Error {
	if r.Verb == protocol.Insert {
		return c.insert(ctx, r, args, a, reply)
	}
	names := object{"#k": c.options.key}
	body := object{"TableName": r.Table, "Key": c.key(&args[0]), "ConditionExpression": "attribute_exists(#k)",
		"ExpressionAttributeNames": names}
	operation := "DeleteItem"
	if r.Verb == protocol.Update {
		operation = "UpdateItem"
		contents, list := object{}, make([]string, len(r.Fields))
		for i, f := range r.Fields {
			names[fmt.Sprintf("#f%d", i)] = f
			contents[fmt.Sprintf(":v%d", i)] = attributeOf(&args[1+i])
			list[i] = fmt.Sprintf("#f%d = :v%[1]d", i)
		}
		body["UpdateExpression"], body["ExpressionAttributeValues"] = "SET "+strings.Join(list, ", "), contents
	}
	f := c.call(ctx, operation, body, a)
	if f != nil && f.Code == "ConditionalCheckFailedException" {
		reply.Missing = true
		return nil
	}
	reply.Affected = 1
	return f
}

// insert writes a whole record: a new one only, if the request must create it.
func (c *conn) insert(ctx context.Context, r *kv.Request, args []gen.Value, a *answer,
	reply *protocol.Reply) *protocol.Error {
	body := object{"TableName": r.Table, "Item": c.itemOf(r, args)}
	if r.Creates {
		body["ConditionExpression"] = "attribute_not_exists(#k)"
		body["ExpressionAttributeNames"] = object{"#k": c.options.key}
	}
	f := c.call(ctx, "PutItem", body, a)
	if r.Creates && f != nil && f.Code == "ConditionalCheckFailedException" {
		reply.Missing = true
		return nil
	}
	reply.Affected = 1
	return f
}

func (c *conn) readBatch(ctx context.Context, r *kv.Request, args []gen.Value, a *answer,
	reply *protocol.Reply) *protocol.Error {
	var keys []object
	seen := make(map[string]bool, r.Rows) // a key may occur only once
	for i := range args {
		if key := kv.Text(&args[i]); !seen[key] {
			seen[key] = true
			keys = append(keys, c.key(&args[i]))
		}
	}
	body := object{"RequestItems": object{r.Table: c.projection(r,
		object{"Keys": keys, "ConsistentRead": c.options.consistent}, true)}}
	if f := c.call(ctx, "BatchGetItem", body, a); f != nil {
		return f
	}
	items := a.Responses[r.Table]
	first := kv.Text(&args[0])
	for i := range items { // they come in any order; the first row's must be first
		if v := items[i][c.options.key]; v.S != nil && *v.S == first {
			items[0], items[i] = items[i], items[0]
		}
	}
	for _, it := range items {
		c.take(r, it, reply)
	}
	if len(a.UnprocessedKeys) > 0 {
		return unprocessed()
	}
	reply.Missing = reply.Rows < int64(len(keys))
	return nil
}

func (c *conn) writeBatch(ctx context.Context, r *kv.Request, args []gen.Value, a *answer,
	reply *protocol.Reply) *protocol.Error {
	var writes []object
	at := make(map[string]int, r.Rows) // a key may occur only once: the last row wins
	for i := range r.Rows {
		row := args[i*r.PerRow:][:r.PerRow]
		one := object{"DeleteRequest": object{"Key": c.key(&row[0])}}
		if r.Verb == protocol.Insert {
			one = object{"PutRequest": object{"Item": c.itemOf(r, row)}}
		}
		key := kv.Text(&row[0])
		if earlier, again := at[key]; again {
			writes[earlier] = one
			continue
		}
		at[key] = len(writes)
		writes = append(writes, one)
	}
	if f := c.call(ctx, "BatchWriteItem", object{"RequestItems": object{r.Table: writes}}, a); f != nil {
		return f
	}
	if len(a.UnprocessedItems) > 0 {
		return unprocessed()
	}
	reply.Affected = int64(r.Rows)
	return nil
}

func unprocessed() *protocol.Error {
	return &protocol.Error{Class: protocol.Retryable, Code: "Unprocessed",
		Text: "the service left part of the batch undone: the table's capacity is used up"}
}

var _ protocol.AdHoc = (*conn)(nil)

// Add prepares a request that isn't part of the session's program.
func (c *conn) Add(ctx context.Context, req *protocol.Request) error {
	r, refused := kv.Parse(req)
	if refused == nil {
		refused = admit(req, &r)
	}
	if refused != nil {
		return refused
	}
	return c.Requests.Add(ctx, req)
}

// Close ends the session; it is safe to call twice.
func (c *conn) Close() error {
	c.client.CloseIdleConnections()
	return nil
}
