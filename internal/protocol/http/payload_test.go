package http

import (
	"io"
	"testing"
)

// The memory of a body is used again only when net/http has closed all of its readers.
func TestPayloadsOfEarlierRequestsStay(t *testing.T) {
	var p payload
	body := func(text string) io.ReadCloser {
		p.begin()
		p.text = append(p.text, text...)
		return p.reader()
	}
	first := body("first")
	second := body("other")
	if got, err := io.ReadAll(first); string(got) != "first" || err != nil {
		t.Errorf("the first request sends %q, %v", got, err)
	}
	memory := &p.text[0]
	again := p.reader() // of a redirect, or of another attempt
	second.Close()
	second.Close()
	third := body("third")
	if memory == &p.text[0] {
		t.Error("a body was replaced that is being read")
	}
	again.Close()
	memory = &p.text[0]
	third.Close()
	if body("fourth"); memory != &p.text[0] && cap(p.text) >= len("fourth") {
		t.Error("no memory is used again")
	}
}
