package mysql

import (
	"brunt/internal/load/gen"
	"brunt/internal/protocol"
)

// Types of columns ("Protocol::ColumnType" in the server's documentation), besides those of parameters.
const (
	typeDecimal    = 0x00
	typeTiny       = 0x01
	typeShort      = 0x02
	typeLong       = 0x03
	typeFloat      = 0x04
	typeTimestamp  = 0x07
	typeInt24      = 0x09
	typeDate       = 0x0a
	typeTime       = 0x0b
	typeDatetime   = 0x0c
	typeYear       = 0x0d
	typeBit        = 0x10
	typeNewDecimal = 0xf6

	flagUnsigned = 0x20
	binaryColumn = 63 // the number of the character set of bytes
)

// addColumn adds a column to a result, by its definition. It returns false if that is malformed.
func addColumn(b []byte, r *protocol.Result) bool {
	var name []byte
	for i := range 6 { // catalogue, schema, table, table's own name, name, column's own name
		field, rest, ok := lengthEncodedText(b)
		if !ok {
			return false
		}
		if b = rest; i == 4 {
			name = field
		}
	}
	b, _, ok := lengthEncodedText(b)
	if !ok || len(b) < 10 { // character set, length, type, flags, decimals
		return false
	}
	charset, length := int(b[0])|int(b[1])<<8, int(b[2])|int(b[3])<<8|int(b[4])<<16
	r.Columns = append(r.Columns, string(name))
	r.Types = append(r.Types, columnType(b[6], charset, length, b[7]&flagUnsigned != 0))
	return true
}

// columnType returns the type of a column. tinyint(1) and bit(1) are truth values, as drivers of other languages have
// it.
func columnType(kind byte, charset, length int, positive bool) protocol.ColumnType {
	switch kind {
	case typeTiny, typeBit:
		switch {
		case length == 1 && !positive || kind == typeBit && length == 1:
			return protocol.BoolColumn
		case kind == typeBit:
			return protocol.BytesColumn
		}
		return protocol.IntegerColumn
	case typeShort, typeLong, typeLongLong, typeInt24:
		return protocol.IntegerColumn
	case typeDecimal, typeNewDecimal:
		return protocol.DecimalColumn
	case typeFloat:
		return protocol.RealColumn
	case typeDouble:
		return protocol.DoubleColumn
	case typeDate:
		return protocol.DateColumn
	case typeTime:
		return protocol.TimeColumn
	case typeDatetime, typeTimestamp:
		return protocol.TimestampColumn
	case typeYear:
		return protocol.YearColumn
	}
	if charset == binaryColumn {
		return protocol.BytesColumn
	}
	return protocol.OtherColumn
}

// capture takes a row in text form, unless what was captured of the answer is enough.
func (c *codec) capture(b []byte, reply *protocol.Reply) protocol.Violation {
	r := &reply.Results[len(reply.Results)-1]
	r.Rows++
	if c.bytes >= protocol.MostCaptured || len(b) >= mostPacket {
		c.bytes = protocol.MostCaptured
		return ""
	}
	r.Captured++
	c.bytes += len(b)
	for i := range r.Columns {
		v := reply.Capture()
		if len(b) > 0 && b[0] == headerLocal { // null
			b = b[1:]
			continue
		}
		text, rest, ok := lengthEncodedText(b)
		if !ok {
			return violated
		}
		b = rest
		v.Kind, v.B = gen.String, append(v.B[:0], text...)
		if r.Types[i] == protocol.BoolColumn && len(text) == 1 && text[0] <= 1 { // a bit
			v.B[0] += '0'
		}
	}
	if len(b) > 0 {
		return violated
	}
	return ""
}

// lengthEncodedText reads a length-encoded text.
func lengthEncodedText(b []byte) (text, rest []byte, ok bool) {
	n, rest, ok := lengthEncoded(b)
	if !ok || n > uint64(len(rest)) {
		return nil, nil, false
	}
	return rest[:n], rest[n:], true
}
