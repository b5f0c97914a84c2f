package testserver

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"sync"
	"syscall"
	"time"
)

// Browser is a headless Chromium with one page, controlled over the pipe of its DevTools protocol. It must be used by
// one goroutine.
type Browser struct {
	t       TB
	session string
	to      io.WriteCloser
	nextID  int

	mu       sync.Mutex
	answers  map[int]chan browserMessage
	requests []string
	faults   []string
}

// browserMessage is a response or an event.
type browserMessage struct {
	ID     int             `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  *struct {
		Message string `json:"message"`
	} `json:"error"`
}

// browserPatience is the time limit of one operation of the browser.
const browserPatience = time.Minute

// NewBrowser starts Chromium, which is stopped at the end of the test. dir is the folder for its profile.
func NewBrowser(t TB, dir string) *Browser {
	t.Helper()
	theirs, to, err := os.Pipe()
	if err != nil {
		t.Fatalf("start chromium: %v", err)
	}
	from, ours, err := os.Pipe()
	if err != nil {
		t.Fatalf("start chromium: %v", err)
	}
	cmd := exec.Command(binary(t, "chromium", "chromium"), "--headless", "--no-sandbox", "--disable-gpu",
		"--hide-scrollbars", "--no-first-run",
		"--disable-background-networking", "--disable-component-update", "--disable-extensions", "--disable-sync",
		"--remote-debugging-pipe", "--user-data-dir="+dir, "about:blank")
	cmd.ExtraFiles = []*os.File{theirs, ours}
	cmd.SysProcAttr = attributes(nil, 0)
	if err := cmd.Start(); err != nil {
		t.Fatalf("start chromium: %v", err)
	}
	_, _ = theirs.Close(), ours.Close()
	b := &Browser{t: t, to: to, answers: map[int]chan browserMessage{}}
	read := make(chan struct{})
	go func() {
		defer close(read)
		b.read(from)
	}()
	t.Cleanup(func() {
		_ = to.Close()
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		_ = cmd.Wait()
		<-read
		_ = from.Close()
	})
	var target struct{ TargetID string }
	b.call("Target.createTarget", map[string]any{"url": "about:blank"}, &target)
	var attached struct{ SessionID string }
	b.call("Target.attachToTarget", map[string]any{"targetId": target.TargetID, "flatten": true}, &attached)
	b.session = attached.SessionID
	for _, domain := range []string{"Page", "Runtime", "Network", "Log"} {
		b.call(domain+".enable", nil, nil)
	}
	return b
}

// read reads messages of the browser until it ends.
func (b *Browser) read(from io.Reader) {
	in := bufio.NewReaderSize(from, 1<<20)
	for {
		text, err := in.ReadBytes(0)
		if err != nil {
			return
		}
		var m browserMessage
		if json.Unmarshal(text[:len(text)-1], &m) != nil {
			continue
		}
		b.mu.Lock()
		switch {
		case m.ID != 0 && b.answers[m.ID] != nil:
			b.answers[m.ID] <- m
		case m.Method == "Network.requestWillBeSent":
			var p struct{ Request struct{ URL string } }
			if json.Unmarshal(m.Params, &p) == nil {
				b.requests = append(b.requests, p.Request.URL)
			}
		case m.Method == "Runtime.exceptionThrown", m.Method == "Log.entryAdded":
			b.faults = append(b.faults, string(m.Params))
		}
		b.mu.Unlock()
	}
}

// call calls a method and decodes its result into result, unless that is nil. An error fails the test.
func (b *Browser) call(method string, params, result any) {
	b.t.Helper()
	if err := b.ask(method, params, result); err != nil {
		b.t.Fatalf("chromium: %s: %v", method, err)
	}
}

// ask is call for methods that may fail.
func (b *Browser) ask(method string, params, result any) error {
	b.nextID++
	answer := make(chan browserMessage, 1)
	b.mu.Lock()
	b.answers[b.nextID] = answer
	b.mu.Unlock()
	message := map[string]any{"id": b.nextID, "method": method}
	if params != nil {
		message["params"] = params
	}
	if b.session != "" {
		message["sessionId"] = b.session
	}
	text, err := json.Marshal(message)
	if err == nil {
		_, err = b.to.Write(append(text, 0))
	}
	if err != nil {
		return err
	}
	select {
	case m := <-answer:
		switch {
		case m.Error != nil:
			return errors.New(m.Error.Message)
		case result != nil:
			return json.Unmarshal(m.Result, result)
		}
		return nil
	case <-time.After(browserPatience):
		return fmt.Errorf("no answer within %s", browserPatience)
	}
}

// Open navigates to a page and waits until it is loaded.
func (b *Browser) Open(url string) {
	b.t.Helper()
	b.call("Page.navigate", map[string]any{"url": url}, nil)
	b.Wait(`location.href !== "about:blank" && document.readyState === "complete"`)
}

// Eval evaluates a JavaScript expression, awaits it if it is a promise, and decodes its value into result.
func (b *Browser) Eval(expression string, result any) {
	b.t.Helper()
	if err := b.evaluate(expression, result); err != nil {
		b.t.Fatalf("chromium: %s: %v", expression, err)
	}
}

func (b *Browser) evaluate(expression string, result any) error {
	var r struct {
		Result           struct{ Value json.RawMessage }
		ExceptionDetails *struct{ Exception struct{ Description string } }
	}
	err := b.ask("Runtime.evaluate", map[string]any{"expression": expression, "returnByValue": true, "awaitPromise": true},
		&r)
	if err == nil && r.ExceptionDetails != nil {
		err = errors.New(r.ExceptionDetails.Exception.Description)
	}
	if err != nil || result == nil {
		return err
	}
	return json.Unmarshal(r.Result.Value, result)
}

// Wait waits until an expression is true. Errors of the expression until then are ignored, since the page may be
// changing.
func (b *Browser) Wait(expression string) {
	b.t.Helper()
	for end := time.Now().Add(browserPatience); ; time.Sleep(20 * time.Millisecond) {
		var yes bool
		err := b.evaluate("!!("+expression+")", &yes)
		if yes {
			return
		}
		if time.Now().After(end) {
			b.t.Fatalf("chromium: %s isn't true after %s: %v", expression, browserPatience, err)
		}
	}
}

// Key presses a key by its name in the DOM, such as ArrowRight.
func (b *Browser) Key(key string, code int) {
	b.t.Helper()
	for _, kind := range []string{"keyDown", "keyUp"} {
		b.call("Input.dispatchKeyEvent", map[string]any{"type": kind, "key": key, "code": key, "windowsVirtualKeyCode": code},
			nil)
	}
}

// Drag drags the mouse with its button pressed from one position in the window to another, in pixels.
func (b *Browser) Drag(fromX, fromY, toX, toY float64) {
	b.t.Helper()
	mouse := func(kind string, x, y float64) {
		b.call("Input.dispatchMouseEvent", map[string]any{"type": kind, "x": x, "y": y, "button": "left", "buttons": 1,
			"clickCount": 1}, nil)
	}
	mouse("mousePressed", fromX, fromY)
	mouse("mouseMoved", (fromX+toX)/2, (fromY+toY)/2)
	mouse("mouseMoved", toX, toY)
	mouse("mouseReleased", toX, toY)
}

// Look sets the size of the window, in pixels, and the media features of the page's styles: the media type "screen" or
// "print", and the color scheme "light" or "dark".
func (b *Browser) Look(width, height int, media, scheme string) {
	b.t.Helper()
	b.call("Emulation.setDeviceMetricsOverride", map[string]any{"width": width, "height": height, "deviceScaleFactor": 1,
		"mobile": false}, nil)
	b.call("Emulation.setEmulatedMedia",
		map[string]any{"media": media, "features": []map[string]string{{"name": "prefers-color-scheme", "value": scheme}}},
		nil)
}

// Picture returns a screenshot of the window as PNG.
func (b *Browser) Picture() []byte {
	b.t.Helper()
	var r struct{ Data string }
	b.call("Page.captureScreenshot", map[string]any{"format": "png"}, &r)
	data, err := base64.StdEncoding.DecodeString(r.Data)
	if err != nil {
		b.t.Fatalf("chromium: %v", err)
	}
	return data
}

// printedPage matches the object of a page in a PDF, but not the page tree.
var printedPage = regexp.MustCompile(`/Type /Page\b`)

// Pages returns how many A4 pages the open page has when it is printed.
func (b *Browser) Pages() int {
	b.t.Helper()
	var r struct{ Data string }
	b.call("Page.printToPDF", map[string]any{"paperWidth": 8.27, "paperHeight": 11.69}, &r)
	data, err := base64.StdEncoding.DecodeString(r.Data)
	if err != nil {
		b.t.Fatalf("chromium: %v", err)
	}
	return len(printedPage.FindAll(data, -1))
}

// Requests returns the URLs requested so far.
func (b *Browser) Requests() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return append([]string(nil), b.requests...)
}

// Faults returns the exceptions and log entries of pages so far, as JSON.
func (b *Browser) Faults() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return append([]string(nil), b.faults...)
}
