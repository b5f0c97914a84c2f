package http

import "bytes"

// selfTestBody is the body of the self-test's answers. It is as long as nginx's default page.
var selfTestBody = bytes.Repeat([]byte("x"), 612)

// selfTestAnswers answers every request (RFC 9112) with a page, and HEAD with the head alone. It doesn't support
// requests with a body.
func selfTestAnswers(out, in []byte) (answers []byte, consumed int, err error) {
	for {
		end := bytes.Index(in[consumed:], []byte("\r\n\r\n"))
		if end < 0 {
			return out, consumed, nil
		}
		head := bytes.HasPrefix(in[consumed:], []byte("HEAD "))
		consumed += end + 4
		out = append(out, "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 612\r\n\r\n"...)
		if !head {
			out = append(out, selfTestBody...)
		}
	}
}
