package iproto

import (
	"encoding/json"
	"slices"
	"strings"

	"brunt/internal/protocol"
	"brunt/internal/protocol/msgpack"
)

// shardingError is an error of vshard (vshard/error.lua). Either a program raises it, and the server answers
// with its JSON form as the message; or a function returns it as a map, after nil or false.
type shardingError struct {
	Type    string `json:"type"`
	Name    string `json:"name"`
	Message string `json:"message"`
}

// shardingType is the type of vshard's errors.
const shardingType = "ShardingError"

// elsewhere lists the errors of a node that doesn't have the bucket, or can't serve it while it moves.
var elsewhere = []string{"WRONG_BUCKET", "NON_MASTER", "TRANSFER_IS_IN_PROGRESS", "BUCKET_IS_LOCKED"}

// passing lists the errors of other temporary states.
var passing = []string{
	"NO_ROUTE_TO_BUCKET", "MISSING_MASTER", "UNREACHABLE_MASTER", "UNREACHABLE_REPLICASET", "UNREACHABLE_REPLICA",
	"REPLICASET_IS_LOCKED", "REPLICASET_IN_BACKOFF", "STORAGE_IS_DISABLED", "STORAGE_IS_REFERENCED", "ROUTER_IS_DISABLED",
	"STORAGE_CFG_IS_IN_PROGRESS", "ROUTER_CFG_IS_IN_PROGRESS", "MASTER_NOT_SYNCED", "VHANDSHAKE_NOT_COMPLETE",
}

// failure returns e as a failure, or nil if it isn't an error of vshard.
func (e *shardingError) failure() *protocol.Error {
	if e.Type != shardingType {
		return nil
	}
	out := &protocol.Error{Class: protocol.Server, Code: e.Name, Text: protocol.Line(e.Message, "")}
	if out.Misdirected = slices.Contains(elsewhere, e.Name); out.Misdirected || slices.Contains(passing, e.Name) {
		out.Class = protocol.Retryable
	}
	return out
}

// shardingFailure returns the failure for an error message, or nil if it isn't an error of vshard.
func shardingFailure(message string) *protocol.Error {
	at := strings.IndexByte(message, '{')
	if at < 0 || !strings.Contains(message, shardingType) {
		return nil
	}
	var e shardingError
	if json.NewDecoder(strings.NewReader(message[at:])).Decode(&e) != nil {
		return nil
	}
	return e.failure()
}

// refusedByShard reads the two values that a function of vshard returns when it fails: nil or false, and the
// error. If the values are something else, it returns nil, with r at an unspecified position.
func (r *reader) refusedByShard() *protocol.Error {
	if c := r.Peek(); c != 0xc0 && c != 0xc2 {
		return nil
	}
	r.Skip()
	if !isMap(r.Peek()) {
		return nil
	}
	var e shardingError
	for n := r.Map(); n > 0 && r.Err == msgpack.Fine; n-- {
		if !isText(r.Peek()) {
			r.Skip()
			r.Skip()
			continue
		}
		key := string(r.Text())
		if !isText(r.Peek()) {
			r.Skip()
			continue
		}
		switch value := r.Text(); key {
		case "type":
			e.Type = string(value)
		case "name":
			e.Name = string(value)
		case "message":
			e.Message = string(value)
		}
	}
	if r.Err != msgpack.Fine {
		return nil
	}
	return e.failure()
}
