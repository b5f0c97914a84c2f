package etcd

import (
	"slices"
	"strconv"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"

	"brunt/internal/load/gen"
	"brunt/internal/load/template"
	"brunt/internal/protocol"
)

// columns returns the names of what can be captured of the answers to a command. A get has those of its first key-value
// pair; every answer has the revision of its header.
func (k answerKind) columns() []string {
	switch k {
	case rangeAnswer:
		return []string{"revision", "key", "value", "create_revision", "mod_revision", "version", "lease", "count"}
	case txnAnswer:
		return []string{"revision", "succeeded"}
	case leaseAnswer, keepAliveAnswer:
		return []string{"revision", "id", "ttl"}
	case statusAnswer:
		return []string{"revision", "server_version", "db_size"}
	case hashAnswer:
		return []string{"revision", "hash"}
	case lockAnswer:
		return []string{"revision", "key"}
	case watchAnswer:
		return []string{"revision", "watch"}
	case eventAnswer:
		return []string{"mod_revision", "key", "value", "watch", "at"}
	}
	return []string{"revision"}
}

func (c *command) checkCaptures() *protocol.Error {
	for i, k := range c.capture {
		if number, column, ok := strings.Cut(k.Name, "."); ok && c.take == txnAnswer {
			n, err := strconv.Atoi(number)
			if all := rangeAnswer.columns(); err != nil || n < 0 || !slices.Contains(all, column) {
				return protocol.Bad("capture %q isn't the number of an operation, a point, and one of %s", k.Name,
					strings.Join(all, ", "))
			}
			c.inner = append(c.inner, innerCapture{n, column, i})
			continue
		}
		if all := c.take.columns(); !slices.Contains(all, k.Name) {
			return protocol.Bad("the answer has no %q to capture; it has %s", k.Name, strings.Join(all, ", "))
		}
	}
	return nil
}

// Numbers of the fields of answers (etcd's rpc.proto, kv.proto and v3lock.proto).
const (
	answerHeader    = 1 // of every answer
	headerRevision  = 3 // of ResponseHeader
	rangeCount      = 4 // of RangeResponse
	txnSucceeded    = 2 // of TxnResponse
	txnResponses    = 3
	responseRange   = 1 // of ResponseOp
	responseDeleted = 3
	leaseID         = 2 // of LeaseGrantResponse and LeaseKeepAliveResponse
	leaseTTL        = 3
	statusVersion   = 2 // of StatusResponse
	statusSize      = 3
	hashValue       = 2 // of HashKVResponse
	lockKey         = 2 // of LockResponse
)

// pairColumns maps the numbers of a KeyValue's fields to names.
var pairColumns = [...]string{1: "key", 2: "create_revision", 3: "mod_revision", 4: "version", 5: "value", 6: "lease"}

// read reads the answer to a command into reply, and returns the revision in its header.
func (c *command) read(message []byte, reply *protocol.Reply) (revision int64, violation protocol.Violation) {
	switch c.take {
	case putAnswer:
		reply.Affected = 1
	case txnAnswer:
		c.whole(reply, "succeeded", 0) // a field that is false or 0 isn't sent
	case rangeAnswer:
		for _, name := range [...]string{"create_revision", "mod_revision", "version", "lease", "count"} {
			c.whole(reply, name, 0)
		}
	}
	responses := 0
	violation = eachField(message, func(number protowire.Number, kind protowire.Type, rest []byte) protocol.Violation {
		switch kind {
		case protowire.VarintType:
			n, _ := protowire.ConsumeVarint(rest)
			c.number(number, int64(n), reply)
		case protowire.BytesType:
			b, _ := protowire.ConsumeBytes(rest)
			if number == answerHeader {
				var bad protocol.Violation
				revision, bad = revisionOf(b)
				c.whole(reply, "revision", revision)
				return bad
			}
			if number == txnResponses && c.take == txnAnswer {
				responses++
				return c.response(responses-1, b, reply)
			}
			return c.part(number, b, reply)
		}
		return ""
	})
	reply.Missing = c.take == deleteAnswer && reply.Affected == 0
	if c.take == keepAliveAnswer && violation == "" && reply.Rows == 0 {
		reply.Fail(&protocol.Error{Class: protocol.Server, Code: "NotFound", Text: "etcdserver: requested lease not found"})
	}
	return revision, violation
}

func revisionOf(header []byte) (revision int64, violation protocol.Violation) {
	violation = eachField(header, func(number protowire.Number, kind protowire.Type, rest []byte) protocol.Violation {
		if number == headerRevision && kind == protowire.VarintType {
			n, _ := protowire.ConsumeVarint(rest)
			revision = int64(n)
		}
		return ""
	})
	return revision, violation
}

// number takes a number of an answer.
func (c *command) number(number protowire.Number, n int64, reply *protocol.Reply) {
	switch {
	case c.take == rangeAnswer && number == rangeCount:
		c.whole(reply, "count", n)
	case c.take == deleteAnswer && number == deletedCount:
		reply.Affected = n
	case c.take == txnAnswer && number == txnSucceeded:
		c.whole(reply, "succeeded", n)
	case (c.take == leaseAnswer || c.take == keepAliveAnswer) && number == leaseID:
		c.whole(reply, "id", n)
	case (c.take == leaseAnswer || c.take == keepAliveAnswer) && number == leaseTTL:
		reply.Rows = 1 // a keep-alive of a lease that isn't there is answered without a time to live
		c.whole(reply, "ttl", n)
	case c.take == statusAnswer && number == statusSize:
		c.whole(reply, "db_size", n)
	case c.take == hashAnswer && number == hashValue:
		c.whole(reply, "hash", n)
	}
}

// part takes a text or a message of an answer.
func (c *command) part(number protowire.Number, b []byte, reply *protocol.Reply) protocol.Violation {
	switch {
	case c.take == rangeAnswer && number == rangeRecords:
		reply.Rows++
		if len(c.capture) > 0 && reply.Rows == 1 {
			return c.pair(b, reply)
		}
	case c.take == statusAnswer && number == statusVersion:
		c.text(reply, "server_version", b)
	case c.take == lockAnswer && number == lockKey:
		c.text(reply, "key", b)
	}
	return ""
}

// pair captures the fields of a KeyValue.
func (c *command) pair(record []byte, reply *protocol.Reply) protocol.Violation {
	return eachField(record, func(number protowire.Number, kind protowire.Type, rest []byte) protocol.Violation {
		if int(number) >= len(pairColumns) {
			return ""
		}
		switch kind {
		case protowire.VarintType:
			n, _ := protowire.ConsumeVarint(rest)
			c.whole(reply, pairColumns[number], int64(n))
		case protowire.BytesType:
			b, _ := protowire.ConsumeBytes(rest)
			c.text(reply, pairColumns[number], b)
		}
		return ""
	})
}

// response captures from the answer to operation number n of a transaction, and counts its rows and changes.
func (c *command) response(n int, b []byte, reply *protocol.Reply) protocol.Violation {
	one := command{take: rangeAnswer}
	for _, in := range c.inner {
		if in.response == n {
			one.inner = append(one.inner, in)
		}
	}
	if len(one.inner) > 0 {
		var captures [16]protocol.Capture
		part := protocol.Reply{}
		for _, in := range one.inner {
			one.capture = append(captures[:len(one.capture)], protocol.Capture{Name: in.column, Kind: c.capture[in.at].Kind})
		}
		part.Reset(len(one.capture))
		violation := eachField(b, func(number protowire.Number, kind protowire.Type, rest []byte) protocol.Violation {
			if number != responseRange || kind != protowire.BytesType {
				return ""
			}
			inner, _ := protowire.ConsumeBytes(rest)
			_, bad := one.read(inner, &part)
			return bad
		})
		if violation != "" {
			return violation
		}
		for i, in := range one.inner {
			reply.Captured[in.at].Set(&part.Captured[i])
		}
	}
	return countResponse(b, reply)
}

// countResponse counts the rows and changes of a transaction's operation.
func countResponse(b []byte, reply *protocol.Reply) protocol.Violation {
	return eachField(b, func(number protowire.Number, kind protowire.Type, rest []byte) protocol.Violation {
		if kind != protowire.BytesType {
			return ""
		}
		inner, _ := protowire.ConsumeBytes(rest)
		if number != responseRange && number != responseDeleted {
			reply.Affected++
			return ""
		}
		return eachField(inner, func(n protowire.Number, kind protowire.Type, rest []byte) protocol.Violation {
			switch {
			case number == responseRange && n == rangeRecords && kind == protowire.BytesType:
				reply.Rows++
			case number == responseDeleted && n == deletedCount && kind == protowire.VarintType:
				deleted, _ := protowire.ConsumeVarint(rest)
				reply.Affected += int64(deleted)
			}
			return ""
		})
	})
}

// whole captures a number.
func (c *command) whole(reply *protocol.Reply, name string, n int64) {
	for i := range c.capture {
		if c.capture[i].Name == name {
			reply.Captured[i].SetInt(n)
		}
	}
}

// text captures bytes.
func (c *command) text(reply *protocol.Reply, name string, b []byte) {
	for i := range c.capture {
		if c.capture[i].Name == name {
			kind := c.capture[i].Kind
			if kind == gen.Null {
				kind = gen.Bytes
			}
			template.SetText(&reply.Captured[i], kind, b)
		}
	}
}
