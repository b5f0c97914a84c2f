package proxy

import (
	"io"
	"net"
	"slices"
	"testing"
	"time"
)

// BenchmarkEcho measures what the proxy adds to a round trip at a fixed rate of 20,000 per second over 16 connections:
// the difference between the p50-µs of the two lines.
func BenchmarkEcho(b *testing.B) {
	const perS, connections = 20_000, 16
	to := echo(b)
	for _, way := range []struct{ name, address string }{{"direct", to}, {"proxy", listen(b, to).Address()}} {
		b.Run(way.name, func(b *testing.B) {
			conns := make([]net.Conn, connections)
			for i := range conns {
				c, err := net.Dial("tcp", way.address)
				if err != nil {
					b.Fatal(err)
				}
				defer c.Close()
				conns[i] = c
			}
			took := make([][]float64, connections)
			done := make(chan error, connections)
			begin := time.Now()
			for i, c := range conns {
				go func() {
					buf := make([]byte, 100)
					for n := i; n < b.N; n += connections {
						time.Sleep(time.Until(begin.Add(time.Duration(n) * time.Second / perS)))
						sent := time.Now()
						if _, err := c.Write(buf); err != nil {
							done <- err
							return
						}
						if _, err := io.ReadFull(c, buf); err != nil {
							done <- err
							return
						}
						took[i] = append(took[i], float64(time.Since(sent))/1e3)
					}
					done <- nil
				}()
			}
			for range conns {
				if err := <-done; err != nil {
					b.Fatal(err)
				}
			}
			all := slices.Concat(took...)
			slices.Sort(all)
			b.ReportMetric(all[len(all)/2], "p50-µs")
			b.ReportMetric(all[len(all)*99/100], "p99-µs")
			b.ReportMetric(float64(len(all))/time.Since(begin).Seconds(), "requests/s")
		})
	}
}
