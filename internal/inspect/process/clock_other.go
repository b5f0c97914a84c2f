//go:build !linux

package process

import "time"

// threadTime isn't known: there is no process to observe, either.
func threadTime() time.Duration { return 0 }
