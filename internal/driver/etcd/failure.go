package etcd

import (
	"context"
	"errors"
	"strings"

	"brunt/internal/driver"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// failureOf classifies what the library returned; req is nil outside of programs.
func failureOf(req *driver.Request, err error, secret string) *driver.Error {
	var own *driver.Error
	if errors.As(err, &own) {
		return own
	}
	code, text := codes.Unknown, err.Error()
	var known rpctypes.EtcdError
	if errors.As(err, &known) {
		code = known.Code()
	} else if s, ok := status.FromError(err); ok {
		code, text = s.Code(), s.Message()
	}
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		code = codes.DeadlineExceeded
	case errors.Is(err, context.Canceled):
		code = codes.Canceled
	}
	f := statusFailure(req, code, driver.Line(text, secret))
	f.Err = err
	return f
}

// statusFailure classifies a gRPC status. Statuses that etcd's server gives have texts that begin
// with "etcdserver:" or "mvcc:"; others come from a transport that broke.
func statusFailure(req *driver.Request, code codes.Code, text string) *driver.Error {
	e := &driver.Error{Class: driver.Server, Code: code.String(), Text: text}
	ofServer := strings.HasPrefix(text, "etcdserver:") || strings.HasPrefix(text, "mvcc:") || strings.HasPrefix(text, "auth:")
	switch code {
	case codes.DeadlineExceeded:
		return driver.Late(req)
	case codes.Canceled:
		e.Class, e.Code, e.Fatal = driver.UnknownOutcome, "", true
	case codes.Unavailable:
		switch {
		case strings.Contains(text, "timed out"):
			e.Class = driver.Late(req).Class
		case ofServer:
			e.Class = driver.Retryable
		case strings.Contains(text, "while dialing"), strings.Contains(text, "connection refused"):
			e.Class, e.Code, e.Fatal = driver.Connect, "", true
		default:
			e.Class, e.Code, e.Fatal = driver.UnknownOutcome, "", true
			e.Text = "the connection broke before the answer came: " + text
		}
	case codes.Aborted:
		e.Class = driver.Retryable
	case codes.ResourceExhausted:
		if strings.Contains(text, "too many requests") {
			e.Class = driver.Retryable
		}
	}
	return e
}

func isPermission(err error) bool {
	return err != nil && status.Code(err) == codes.PermissionDenied
}
