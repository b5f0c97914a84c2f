package protocol

import "time"

// RPC is a gRPC call. Messages and values of Metadata may hold "$1" … for parameters.
type RPC struct {
	Method string // package.Service/Method
	// Messages are those to send, as JSON (protobuf's JSON mapping). Methods that don't stream to the server take at most
	// one; none stands for an empty message.
	Messages []string
	Metadata [][2]string   // in the order sent
	Deadline time.Duration // that the server is told (grpc-timeout); 0 means none
	// Receive is the number of messages after which the client ends the call; 0 means that the server ends it.
	Receive int
	// Send is the number of messages to send, for methods that stream to the server: Messages over and over; 0 means that
	// each is sent once.
	Send int
	// Interval is the time from when a message is due to when the next one is; 0 means that all are due at once.
	Interval time.Duration
	// Duration is the time after which the client ends its part of the call: it sends no further messages or, if the
	// method doesn't stream to the server, it ends the call. 0 means none.
	Duration time.Duration
	Unary    bool // methods that stream are refused
}

// Texts returns the texts that may hold parameters.
func (r *RPC) Texts() []string {
	texts := append([]string(nil), r.Messages...)
	for _, m := range r.Metadata {
		texts = append(texts, m[1])
	}
	return texts
}
