package http

import "brunt/internal/protocol"

// Declaration declares the protocol "http".
func Declaration() protocol.Declaration {
	return protocol.Declaration{
		Names:   []string{"http"},
		Open:    func() protocol.Driver { return New() },
		Port:    "80",
		Text:    protocol.HTTP,
		Records: protocol.RecordsAsPages,
		SelfTest: &protocol.SelfTest{
			Request: protocol.Request{Verb: protocol.HTTP, Web: &protocol.Web{Method: "GET", Path: "/page/$1"}},
			Answers: func() protocol.AnswerFunc { return selfTestAnswers },
		},
	}
}

// SecureDeclaration declares the protocol "https".
func SecureDeclaration() protocol.Declaration {
	return protocol.Declaration{
		Names: []string{"https"},
		Open:  func() protocol.Driver { return NewSecure() },
		Port:  "443",
		Text:  protocol.HTTP,
	}
}
