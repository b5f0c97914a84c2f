package hotspot

import (
	"context"
	"time"
)

// Command has a JVM execute a command.
func (j *JVM) Command(ctx context.Context, text string) (string, error) { return j.command(ctx, text) }

// Patience sets how long an answer is waited for.
func (j *JVM) Patience(d time.Duration) { j.wait = d }

// Left is the test's name of left.
func Left(name string) bool { return left(name) }

// OurName is the test's name of ourName.
func OurName(pid int) string { return ourName(pid) }
