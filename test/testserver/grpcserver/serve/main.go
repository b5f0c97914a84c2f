// Command serve is the gRPC server of brunt's measurements: that of its tests, in a process of its own. It prints its
// address and runs until its standard input ends.
package main

import (
	"fmt"
	"io"
	"os"

	"brunt/test/testserver"
	"brunt/test/testserver/grpcserver"
)

func main() {
	tb := testserver.NewStandalone(os.Stderr)
	defer tb.Close()
	fmt.Println(grpcserver.Start(tb).Addr)
	_, _ = io.Copy(io.Discard, os.Stdin)
}
