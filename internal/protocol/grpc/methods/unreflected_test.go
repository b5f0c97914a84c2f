package methods

import (
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"brunt/internal/protocol"
)

// The page of a proxy whose server is down is left out of the message.
func TestPagesOfProxiesAreLeftOut(t *testing.T) {
	err := status.Error(codes.Unavailable, "unexpected HTTP status code received from server: 502 (Bad Gateway); "+
		"transport: received unexpected content-type \"text/html\"; data: \"<html>\"")
	text := Unreflected(protocol.Target{Address: "127.0.0.1:1"}, err).Text
	if strings.Contains(text, "html") || !strings.HasSuffix(text,
		"502 (Bad Gateway); does a gRPC server run there, or behind it?") {
		t.Error(text)
	}
}
