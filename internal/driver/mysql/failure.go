package mysql

import (
	"context"
	sqldriver "database/sql/driver"
	"errors"
	"fmt"

	"brunt/internal/driver"

	"github.com/go-sql-driver/mysql"
)

// classOf maps an error's number to a class (MySQL's and MariaDB's error references; numbers from
// 8000 on are TiDB's).
func classOf(number uint16) (class driver.Class, fatal bool) {
	switch number {
	case 1213, 1205, 1020, // deadlock; lock wait timeout; record has changed since last read
		3572, 1412, // NOWAIT; table definition has changed
		1047, 1040, 1203, // a cluster's node isn't ready; too many connections
		8002, 8022, 8028, 9007, 9001, 9002, 9003, 9005: // TiDB: write conflict, schema changed, not leader, busy
		return driver.Retryable, false
	case 1969, 3024, 1907: // max_statement_time, max_execution_time
		return driver.Timeout, false
	case 1053, 1927, 1152, 3169: // shutdown in progress, connection was killed
		return driver.UnknownOutcome, true
	case 1317: // query execution was interrupted
		return driver.UnknownOutcome, false
	}
	return driver.Server, false
}

// failure classifies what the library returned; req is nil outside of programs.
func (s *session) failure(ctx context.Context, req *driver.Request, err error) *driver.Error {
	var own *driver.Error
	if errors.As(err, &own) {
		return own
	}
	var answer *mysql.MySQLError
	if errors.As(err, &answer) {
		class, fatal := classOf(answer.Number)
		return &driver.Error{Class: class, Code: fmt.Sprint(answer.Number), Text: driver.Line(answer.Message, s.secret), Fatal: fatal, Err: err}
	}
	e := driver.Unanswered(ctx, req, err, s.secret)
	switch {
	case driver.IsLate(ctx, err):
	case errors.Is(err, sqldriver.ErrBadConn):
		e.Class, e.Text = driver.Connect, "the connection is closed"
	case errors.Is(err, mysql.ErrMalformPkt), errors.Is(err, mysql.ErrPktSync), errors.Is(err, mysql.ErrPktSyncMul):
		e.Class = driver.Protocol
	case errors.Is(err, mysql.ErrPktTooLarge):
		e.Class, e.Text, e.Fatal = driver.Client, driver.Line(err.Error(), s.secret), false
	}
	return e
}
