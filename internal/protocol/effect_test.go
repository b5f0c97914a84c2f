package protocol_test

import (
	"testing"

	"brunt/internal/protocol"
)

func TestEffect(t *testing.T) {
	type failure = protocol.Failure
	const unsure, not = protocol.Unsure, protocol.NotApplied
	sql, web := &protocol.Request{Verb: protocol.SQL}, &protocol.Request{Verb: protocol.HTTP, Web: &protocol.Web{}}
	for name, row := range map[string]struct {
		f    failure
		r    *protocol.Request
		want protocol.Effect
	}{
		"a success":                {failure{}, sql, protocol.Applied},
		"no answer":                {failure{Class: protocol.UnknownOutcome, Fatal: true}, sql, unsure},
		"nonsense":                 {failure{Class: protocol.Protocol, Fatal: true}, sql, unsure},
		"never connected":          {failure{Class: protocol.Connect, Fatal: true}, sql, not},
		"nobody listens":           {failure{Class: protocol.Connect, Code: protocol.RefusedCode}, sql, not},
		"shut down meanwhile":      {failure{Class: protocol.Connect, Code: "57P01", Fatal: true}, sql, unsure},
		"a constraint":             {failure{Class: protocol.Server, Code: "23502"}, sql, not},
		"a bug of the server":      {failure{Class: protocol.Server, Code: "XX000"}, sql, unsure},
		"completion unknown":       {failure{Class: protocol.Server, Code: "40003"}, sql, unsure},
		"Redis' own words":         {failure{Class: protocol.Server, Code: "WRONGTYPE"}, sql, not},
		"statement timeout":        {failure{Class: protocol.Timeout, Code: "57014"}, sql, not},
		"a quorum's timeout":       {failure{Class: protocol.Timeout, Code: "78"}, sql, unsure},
		"a deadlock":               {failure{Class: protocol.Retryable, Code: "40P01"}, sql, not},
		"a leader that stopped":    {failure{Class: protocol.Retryable, Text: "etcdserver: server stopped"}, sql, unsure},
		"can't be encoded":         {failure{Class: protocol.Client}, sql, not},
		"a library's own":          {failure{Class: protocol.Client, Fatal: true}, sql, unsure},
		"a bad request":            {failure{Class: protocol.Server, Code: "400"}, web, not},
		"a gateway's timeout":      {failure{Class: protocol.Server, Code: "504"}, web, unsure},
		"a request that timed out": {failure{Class: protocol.Server, Code: "408"}, web, unsure},
	} {
		t.Run(name, func(t *testing.T) {
			if got := row.f.Effect(row.r); got != row.want {
				t.Errorf("it is %d, want %d", got, row.want)
			}
		})
	}
}
