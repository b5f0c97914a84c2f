package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"

	"brunt/test/testserver"
)

// receiverCommand is the argument with which this program starts itself as the receiver.
const receiverCommand = "receiver"

// noNotes is the argument for a receiver that only answers and records no times.
const noNotes = "no-notes"

// arrivals describes how late requests arrived, compared with an even schedule. The schedule begins so that the request
// that is earliest relative to it is on time.
type arrivals struct {
	Requests uint64  `json:"requests"`
	P50Us    float64 `json:"p50_us"`
	P99Us    float64 `json:"p99_us"`
	MaxUs    float64 `json:"max_us"`
}

// receiver is the process that receives requests.
type receiver struct {
	address string
	cmd     *exec.Cmd
	in      io.WriteCloser
	out     *bufio.Reader
}

// receiver starts a receiver on the servers' cores, with further arguments.
func (s *stand) receiver(words ...string) (*receiver, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(s.ctx, program, append([]string{receiverCommand}, words...)...)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	r := &receiver{cmd: cmd, in: in, out: bufio.NewReader(out)}
	address, err := r.out.ReadString('\n')
	r.address = strings.TrimSpace(address)
	if err == nil {
		err = testserver.Pin(cmd.Process.Pid, s.servers)
	}
	if err != nil {
		in.Close()
		cmd.Wait()
		return nil, fmt.Errorf("start the receiver: %w", err)
	}
	return r, nil
}

// stop ends the receiver and returns the lateness of an even load of rate requests per second.
func (r *receiver) stop(rate int) (arrivals, error) {
	var seen arrivals
	fmt.Fprintln(r.in, rate)
	r.in.Close()
	err := json.NewDecoder(r.out).Decode(&seen)
	if failure := r.cmd.Wait(); err == nil {
		err = failure
	}
	return seen, err
}

// abandon kills the receiver.
func (r *receiver) abandon() {
	r.in.Close()
	r.cmd.Process.Kill()
	r.cmd.Wait()
}

// receive is the main function of the receiver's process. It prints its address, serves until it reads the rate, and
// prints the arrivals.
func receive(args []string) error {
	e, err := newEchoReceiver(len(args) > 0 && args[0] == noNotes)
	if err != nil {
		return err
	}
	fmt.Println(e.address)
	go e.serve()
	text, err := bufio.NewReader(os.Stdin).ReadString('\n')
	if err != nil {
		return err
	}
	rate, err := strconv.Atoi(strings.TrimSpace(text))
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(against(e.stop(), rate))
}

// against compares arrival times with an even schedule.
func against(atNs []int64, rate int) arrivals {
	if len(atNs) == 0 {
		return arrivals{}
	}
	slices.Sort(atNs)
	late := make([]float64, len(atNs))
	for i, at := range atNs {
		late[i] = float64(at-atNs[0]) - float64(i)*1e9/float64(rate)
	}
	slices.Sort(late)
	us := func(q float64) float64 { return (late[min(int(q*float64(len(late))), len(late)-1)] - late[0]) / 1e3 }
	return arrivals{Requests: uint64(len(atNs)), P50Us: us(0.5), P99Us: us(0.99), MaxUs: us(1)}
}
