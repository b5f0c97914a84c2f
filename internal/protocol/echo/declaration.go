package echo

import "brunt/internal/protocol"

// Declaration declares the protocol "echo".
func Declaration() protocol.Declaration {
	return protocol.Declaration{
		Names: []string{"echo"},
		Open:  func() protocol.Driver { return Driver{} },
		Port:  "7",
		SelfTest: &protocol.SelfTest{
			Request: protocol.Request{Verb: protocol.Call, Text: "request"},
			Answers: func() protocol.AnswerFunc { return selfTestAnswers },
		},
	}
}
