// Package brunt runs load tests from Go programs and Go tests: it sends a load on schedule, measures every operation
// from its intended start, and says whether the result holds and whether it can be trusted.
//
// # A Go function as the load
//
// A [Load] calls a function at a rate, or from a number of sessions as fast as it returns. In a test, a few lines say
// what an endpoint must hold:
//
//	func TestCheckoutHolds500(t *testing.T) {
//		brunt.Load{
//			Do:       func(ctx context.Context, n uint64) error { return checkout(ctx, n) },
//			Rate:     500,
//			Duration: 10 * time.Second,
//			WarmUp:   2 * time.Second,
//			Rules:    []string{"response.p(99) < 20ms", "errors < 0.1%"},
//		}.Test(t)
//	}
//
// The test fails with the report's summary if a rule doesn't hold. It is skipped, with the reason, if this machine was
// too busy to tell. The response time of an operation runs from its intended start to its end, so that a function that
// stalls can't hide the operations that would have begun in that time.
//
// # A plan
//
// A [Plan] is the file that the command brunt run takes. [ReadPlan] and [ParsePlan] read one, and [Plan.Run] and
// [Plan.Test] run it. The protocols that it may name are those which the program links: import brunt/protocols for all
// that brunt comes with, or one of the packages below it.
//
// # Results
//
// A [Result] has the verdict with its reasons, counts, and quantiles. It writes every report. If a folder was given, it
// is on disk as a bundle like that of the command line. [Read] reads bundles, [Result.Judge] applies other rules to
// them, and [Compare] says whether one side of several runs is better or worse than the other.
//
// # Your own protocols
//
// A [Protocol] connects, does requests and classifies errors. [Register] makes it known by a name. A program that calls
// Main of the package brunt/command then has it everywhere: in plans, k6 scripts, campaigns, and on workers.
//
// # What is promised
//
// What a program that compiles against this package uses keeps compiling and keeps its meaning until the next major
// version. docs/compatibility.md says what that covers and until when.
package brunt
