package etcd

import (
	"brunt/internal/driver"
	"brunt/internal/driver/kv"

	"google.golang.org/protobuf/encoding/protowire"
)

// The numbers of the fields that matter (etcd's rpc.proto and kv.proto).
const (
	rangeRecords = 2 // of RangeResponse
	deletedCount = 2 // of DeleteRangeResponse
	recordValue  = 5 // of KeyValue
)

const malformed = "the message isn't a protocol buffer"

// parse reads an answer's message.
func parse(r *kv.Request, message []byte, reply *driver.Reply) (fault string) {
	for len(message) > 0 {
		number, kind, n := protowire.ConsumeTag(message)
		if n < 0 {
			return malformed
		}
		message = message[n:]
		size := protowire.ConsumeFieldValue(number, kind, message)
		if size < 0 {
			return malformed
		}
		switch m := methodOf(r.Verb); {
		case m == methodRange && number == rangeRecords && kind == protowire.BytesType:
			record, _ := protowire.ConsumeBytes(message)
			if fault = takeRecord(r, record, reply); fault != "" {
				return fault
			}
		case m == methodDelete && number == deletedCount && kind == protowire.VarintType:
			deleted, _ := protowire.ConsumeVarint(message)
			reply.Affected = int64(deleted)
		}
		message = message[size:]
	}
	switch r.Verb {
	case driver.Read:
		reply.Missing = reply.Rows == 0
	case driver.Delete:
		reply.Missing = reply.Affected == 0
	case driver.Insert, driver.Update:
		reply.Affected = 1
	}
	return ""
}

// takeRecord adds one key and value to the reply.
func takeRecord(r *kv.Request, record []byte, reply *driver.Reply) (fault string) {
	reply.Rows++
	if len(r.Captures) == 0 || reply.Rows > 1 {
		return ""
	}
	var value []byte
	for len(record) > 0 {
		number, kind, n := protowire.ConsumeTag(record)
		if n < 0 {
			return malformed
		}
		record = record[n:]
		size := protowire.ConsumeFieldValue(number, kind, record)
		if size < 0 {
			return malformed
		}
		if number == recordValue && kind == protowire.BytesType {
			value, _ = protowire.ConsumeBytes(record)
		}
		record = record[size:]
	}
	if err := capture(r, value, reply); err != nil && reply.Class == driver.OK {
		reply.Fail(err)
	}
	return ""
}
