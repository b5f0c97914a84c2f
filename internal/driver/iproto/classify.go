package iproto

import (
	"strconv"
	"strings"

	"brunt/internal/driver"

	iproto "github.com/tarantool/go-iproto"
)

// errorBit marks an answer as an error; the rest of its code is the error's number.
const errorBit = 0x8000

// classOf maps an error number (Tarantool's errcode.h, as in package go-iproto) and, for the
// errors of Picodata, which share few numbers, its message to a class. fatal says that the session
// must be opened again: its prepared statements are gone.
func classOf(code uint32, message string) (class driver.Class, fatal bool) {
	switch iproto.Error(code) {
	case iproto.ER_READONLY, iproto.ER_TRANSACTION_CONFLICT, iproto.ER_LOADING,
		iproto.ER_LOCAL_INSTANCE_ID_IS_READ_ONLY, iproto.ER_CASCADE_ROLLBACK,
		iproto.ER_SYNC_QUORUM_TIMEOUT, iproto.ER_SYNC_ROLLBACK, iproto.ER_SYNC_MASTER_MISMATCH,
		iproto.ER_QUORUM_WAIT, iproto.ER_INTERFERING_PROMOTE, iproto.ER_INTERFERING_ELECTIONS,
		iproto.ER_NOT_LEADER, iproto.ER_SYNC_QUEUE_UNCLAIMED, iproto.ER_SYNC_QUEUE_FOREIGN,
		iproto.ER_SYNC_QUEUE_FULL, iproto.ER_TRANSACTION_TIMEOUT:
		return driver.Retryable, false
	case iproto.ER_TIMEOUT:
		return driver.Timeout, false
	case iproto.ER_PASSWORD_EXPIRED:
		return driver.Connect, true
	}
	if isOutdated(code, message) || driver.Picodata(message).Passing {
		return driver.Retryable, false
	}
	return driver.Server, false
}

// isOutdated reports whether an error says that a prepared statement is of no more use: any change of the
// schema ends all of them.
func isOutdated(code uint32, message string) bool {
	switch iproto.Error(code) {
	case iproto.ER_WRONG_QUERY_ID:
		return true
	case iproto.ER_SQL_EXECUTE:
		return strings.Contains(message, "statement has expired")
	}
	return false
}

// ServerError is an error that the server answered with.
func ServerError(code uint32, message string) *driver.Error {
	class, fatal := classOf(code, message)
	number, text := driver.Picodata(message).Of(strconv.FormatUint(uint64(code), 10))
	return &driver.Error{Class: class, Code: number, Text: driver.Line(text, ""), Fatal: fatal}
}

func protocolError(text string) *driver.Error {
	return &driver.Error{Class: driver.Protocol, Text: text, Fatal: true}
}
