package cli_test

import (
	"context"
	"errors"
	"os"

	"brunt"
)

// misbehaving is a protocol whose sessions do what the first word of a command says.
type misbehaving struct{}

func (misbehaving) Connect(_ context.Context, t brunt.Target) (brunt.Session, error) {
	switch t.Address {
	case "nothing":
		return nil, nil
	case "panic":
		panic("no way in")
	case "refused":
		return nil, errors.New("go away")
	}
	return misbehavior{}, nil
}

func (misbehaving) Classify(err error) brunt.Failure {
	return brunt.Failure{Class: brunt.ClassServer, Code: "E1", Text: "classified: " + err.Error()}
}

type misbehavior struct{}

func (misbehavior) Do(_ context.Context, r *brunt.Request) (*brunt.Reply, error) {
	switch r.Words[0] {
	case "panic":
		panic("no such car")
	case "nothing":
		return nil, nil
	case "error":
		return nil, errors.New("sold out")
	case "block":
		select {}
	case "exit":
		os.Exit(0)
	}
	return &brunt.Reply{Columns: []string{"word"}, Rows: [][]any{{r.Words[0]}}}, nil
}

func (misbehavior) Close() error { return nil }

// ownProtocols registers protocols, as a program that links some does, if the variable OWN asks for it: "well", or
// "badly", with names that are taken. Workers inherit the variable.
func ownProtocols() {
	switch os.Getenv("OWN") {
	case "well":
		brunt.Register("misbehaving", misbehaving{})
	case "badly":
		brunt.Register("redis", misbehaving{})
		brunt.Register("nobody", nil)
	}
}
