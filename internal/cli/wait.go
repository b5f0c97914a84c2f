package cli

import (
	"errors"
	"fmt"
	"io"
	"time"

	"brunt/internal/driver"
	"brunt/internal/driver/web"
	"brunt/internal/runner"
)

// waitingNote tells once that a service is waited for.
func waitingNote(w io.Writer, most time.Duration, quiet bool) func(error) {
	if quiet {
		return nil
	}
	return func(err error) { fmt.Fprintf(w, "brunt: waiting up to %s: %v\n", most, err) }
}

// startsDown reports whether a service that can't be reached is no reason not to begin: slow_cooker
// begins and counts failures until the service comes up. A certificate that isn't trusted is no such
// thing.
func (c *cooking) startsDown(err error) bool {
	var down *runner.UnreachableError
	var fault *driver.Error
	return (c.replacing || c.o.Compat) && errors.As(err, &down) && !(errors.As(err, &fault) && fault.Code == web.TLSFault)
}

// withoutService makes the sessions connect when a request needs it, so that each request that can't
// be sent is a failure at once.
func (c *cooking) withoutService(o runner.Options, why error) runner.Options {
	if !c.o.Quiet {
		fmt.Fprintf(c.s.err, "brunt: note: begins although the service is down: %v\n", why)
	}
	o.Plan.Target.Options["lazy"] = "on"
	o.PlanText = cookPlanText(o.Plan, c.s.args)
	o.Wait, o.StartDown = 0, true
	return o
}
