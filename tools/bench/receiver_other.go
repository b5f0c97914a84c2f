//go:build !linux

package main

import "errors"

type echoReceiver struct{ address string }

func newEchoReceiver(bool) (*echoReceiver, error) {
	return nil, errors.New("the receiver's timestamps need Linux")
}

func (*echoReceiver) serve() {}

func (*echoReceiver) stop() []int64 { return nil }
