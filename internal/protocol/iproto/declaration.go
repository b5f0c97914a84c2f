package iproto

import "brunt/internal/protocol"

// Declaration declares the protocol "iproto".
func Declaration() protocol.Declaration {
	return protocol.Declaration{
		Names: []string{"iproto", "tarantool"},
		Open:  func() protocol.Driver { return New() },
		Port:  "3301",
		SQL: []protocol.SQLServer{
			{Product: "Tarantool", Flavor: protocol.FlavorTarantool, Without: "1."},
			{Product: "Picodata", Flavor: protocol.FlavorPicodata},
		},
		Picodata: "iproto",
		Records:  protocol.RecordsInSpaces,
		SelfTest: &protocol.SelfTest{
			Request:  protocol.Request{Verb: protocol.Call, Text: "request"},
			Greeting: selfTestGreeting(),
			Answers:  func() protocol.AnswerFunc { return selfTestAnswers },
		},
	}
}
