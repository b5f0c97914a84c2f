package redis

import "brunt/internal/protocol"

// Declaration declares the protocol "redis".
func Declaration() protocol.Declaration {
	return protocol.Declaration{
		Names:    []string{"redis", "resp"},
		Open:     func() protocol.Driver { return New() },
		Port:     "6379",
		Notation: &protocol.Notation{Schemes: map[string]bool{"redis": false, "rediss": true}, Database: "db"},
		Text:     protocol.Command,
		Records:  protocol.RecordsByCommands,
		Doctor:   protocol.Doctor{Limits: limits},
		SelfTest: &protocol.SelfTest{
			Request: protocol.Request{Verb: protocol.Command, Words: []string{"GET", "key:$1"}},
			Answers: func() protocol.AnswerFunc { return selfTestAnswers },
		},
	}
}
