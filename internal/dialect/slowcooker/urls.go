package slowcooker

import (
	"bufio"
	"fmt"
	"io"
	"net/url"
	"os"
	"strings"

	"brunt/internal/dialect/endpoints"
)

// maxURLs bounds a list. Every session keeps each URL's request ready, about 500 bytes.
const maxURLs = 100_000

// readURLs reads the argument: a URL, or @file or @- with one on each line.
func readURLs(target string, stdin io.Reader) ([]*url.URL, error) {
	path, isList := strings.CutPrefix(target, "@")
	var in io.Reader = strings.NewReader(target)
	switch {
	case path == "-" && isList:
		in = stdin
	case isList:
		file, err := os.Open(path)
		if err != nil {
			return nil, fmt.Errorf("list of URLs: %w", err)
		}
		defer file.Close()
		in = file
	}
	var all []*url.URL
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 1<<20)
	for n := 1; lines.Scan(); n++ {
		text := strings.TrimSpace(lines.Text())
		if isList && text == "" {
			continue
		}
		u, err := endpoints.ParseURL(text)
		if err != nil {
			return nil, fmt.Errorf("invalid URL on line %d: %w", n, err)
		}
		if len(all) == maxURLs {
			return nil, fmt.Errorf("more than %d URLs; split the list", maxURLs)
		}
		all = append(all, u)
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("list of URLs: %w", err)
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("%s holds no URL; write one on each line", target)
	}
	return all, nil
}
