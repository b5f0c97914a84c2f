// Desk is a small service with performance faults, which shows what a campaign finds: a help desk over three tables of
// PostgreSQL. It looks customers up by an expression without an index, asks for the agent of each ticket with a
// separate statement (N+1), pages by OFFSET, keeps transactions open while it waits for another server, and has an
// unused index. It comes with a load profile (plan.yml), a test programme (campaign.yml), and a command that runs both.
package main

import (
	"context"

	"brunt/examples/internal/example"
)

const usage = `usage:
  desk serve      serve the API over a database that is there
  desk programme  start PostgreSQL and run the test programme against the service
`

func main() { example.Main("desk", run) }

func run(ctx context.Context, args []string) error {
	return example.Run(ctx, args, usage, serve, programme)
}
