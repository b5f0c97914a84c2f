package fill

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"math/big"
	"strconv"
	"strings"

	"github.com/cespare/xxhash/v2"

	"brunt/internal/load/gen"
	"brunt/internal/protocol"
)

// rowHash computes the checksum of a row from its canonical text. The checksum is the same for a generated row and for
// the row as the server returns it. It is XXH64 over the length and the text of each value; null has a length of its
// own. As with gen.ChecksumRow, the checksum of several rows is the sum of theirs.
type rowHash struct {
	columns []protocol.Column
	digest  xxhash.Digest
	text    []byte
}

func newRowHash(columns []protocol.Column) *rowHash {
	return &rowHash{columns: columns}
}

// generated returns the checksum of a generated row.
func (h *rowHash) generated(values []gen.Value) uint64 {
	h.digest.ResetWithSeed(0)
	for i := range values {
		if values[i].Kind == gen.Null {
			h.add(i, nil)
			continue
		}
		h.text = values[i].AppendText(h.text[:0])
		text := string(h.text)
		h.add(i, &text)
	}
	return h.digest.Sum64()
}

// read returns the checksum of a row that a server returned.
func (h *rowHash) read(values []*string) uint64 {
	h.digest.ResetWithSeed(0)
	for i := range values {
		h.add(i, values[i])
	}
	return h.digest.Sum64()
}

func (h *rowHash) add(column int, text *string) {
	var length [8]byte
	if text == nil {
		binary.LittleEndian.PutUint64(length[:], ^uint64(0))
		_, _ = h.digest.Write(length[:])
		return
	}
	same := *text
	if column < len(h.columns) {
		same = canonical(h.columns[column].Type, same)
	}
	binary.LittleEndian.PutUint64(length[:], uint64(len(same)))
	_, _ = h.digest.Write(length[:])
	_, _ = h.digest.WriteString(same)
}

// canonical converts the different texts that servers return for the same value of a type into one text. A text that
// isn't valid for the type is returned unchanged.
func canonical(columnType, text string) string {
	switch gen.Type(columnType) {
	case gen.TypeInteger, gen.TypeUnsigned, gen.TypeDecimal:
		return canonicalNumber(text)
	case gen.TypeDouble:
		return canonicalFloat(text)
	case gen.TypeBoolean:
		switch strings.ToLower(text) {
		case "t", "true", "1":
			return "true"
		case "f", "false", "0":
			return "false"
		}
	case gen.TypeDatetime:
		return canonicalTime(text)
	case gen.TypeUUID:
		return strings.ToLower(strings.NewReplacer("-", "", "{", "", "}", "").Replace(text))
	case gen.TypeJSON:
		return canonicalJSON(text)
	}
	return text
}

// canonicalNumber removes a plus sign, an exponent, and leading and trailing zeros.
func canonicalNumber(text string) string {
	s := strings.TrimPrefix(text, "+")
	if strings.ContainsAny(s, "eE") {
		s = withoutExponent(s)
	}
	digits, negative := strings.CutPrefix(s, "-")
	if digits == "" || strings.Trim(digits, "0123456789.") != "" {
		return text
	}
	whole, part, _ := strings.Cut(digits, ".")
	whole = strings.TrimLeft(whole, "0")
	part = strings.TrimRight(part, "0")
	if whole == "" {
		whole = "0"
	}
	if part != "" {
		whole += "." + part
	}
	if negative && whole != "0" {
		return "-" + whole
	}
	return whole
}

// withoutExponent writes out a number such as 1.5e3 if the result has at most about 400 digits.
func withoutExponent(s string) string {
	const mostDigits = 400
	at := strings.IndexAny(s, "eE")
	exponent, err := strconv.Atoi(s[at+1:])
	if err != nil || exponent < -mostDigits || exponent > mostDigits || at > mostDigits {
		return s
	}
	r, ok := new(big.Rat).SetString(s)
	if !ok {
		return s
	}
	return r.FloatString(max(0, at-exponent))
}

func canonicalFloat(text string) string {
	f, err := strconv.ParseFloat(text, 64)
	switch {
	case err != nil:
		return text
	case f == 0:
		return "0"
	}
	return strconv.FormatFloat(f, 'g', -1, 64)
}

// canonicalTime returns a time as microseconds since the Unix epoch. Servers without a type for times store this
// number.
func canonicalTime(text string) string {
	if _, err := strconv.ParseInt(text, 10, 64); err == nil {
		return text
	}
	if t, ok := gen.ParseTime(text); ok {
		return strconv.FormatInt(t.UnixMicro(), 10)
	}
	return text
}

// canonicalJSON sorts the keys of objects, removes white space and normalizes numbers.
func canonicalJSON(text string) string {
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil || d.More() {
		return text
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(canonicalItem(v)); err != nil {
		return text
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func canonicalItem(v any) any {
	switch v := v.(type) {
	case json.Number:
		return json.Number(canonicalNumber(v.String()))
	case []any:
		for i := range v {
			v[i] = canonicalItem(v[i])
		}
	case map[string]any:
		for k := range v {
			v[k] = canonicalItem(v[k])
		}
	}
	return v
}
