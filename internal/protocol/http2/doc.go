// Package http2 is the client's side of HTTP/2 connections (RFC 9113) for codecs: frames, headers (HPACK, RFC 7541),
// flow control both ways, several streams on a connection, GOAWAY and resets. It does no I/O. A codec of a protocol
// over HTTP/2 embeds Conn, which implements most of what package protocol asks of codecs whose answers are tagged: the
// tag of a request is the number of its stream.
package http2
