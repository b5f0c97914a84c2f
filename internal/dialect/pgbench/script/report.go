package script

import (
	"fmt"
	"strings"

	"brunt/internal/protocol"
	"brunt/internal/render/cell"
)

// message returns a failure as PostgreSQL's libraries print errors, with the line of the statement that the server
// points to.
func (s *session) message(reply *protocol.Reply) string {
	r := reply.Report
	if r == nil {
		return "ERROR:  " + reply.Text
	}
	text := ReportText(r, s.sentText(reply))
	if r.Where != "" {
		text += "\nCONTEXT:  " + r.Where
	}
	return text
}

// ReportText returns what a server says as PostgreSQL's libraries print notices. sent is the text that it is about.
func ReportText(r *protocol.Report, sent string) string {
	var b strings.Builder
	b.WriteString(r.Severity + ":  " + r.Message)
	text, position := r.Internal, r.InternalPosition
	if r.Position > 0 {
		text, position = sent, r.Position
	}
	if position > 0 {
		b.WriteString(pointed(text, position))
	}
	for _, part := range [][2]string{{"DETAIL", r.Detail}, {"HINT", r.Hint}, {"QUERY", r.Internal}} {
		if part[1] != "" {
			b.WriteString("\n" + part[0] + ":  " + part[1])
		}
	}
	return b.String()
}

// sentText returns the text of the statement that failed.
func (s *session) sentText(reply *protocol.Reply) string {
	request := &s.program.requests[s.script][s.request]
	switch {
	case s.rolling:
		return request.Text
	case request.Verbatim:
		return string(s.text)
	}
	left := reply.Statements
	for _, part := range request.Pipeline {
		if part.Text == "" {
			continue
		}
		if left == 0 {
			return part.Text
		}
		left--
	}
	return request.Text
}

const (
	longestLine = 60 // columns of a line that is shown; longer ones are cut
	rightOfMark = 10 // columns that remain at least to the right of the mark, if there are so many
)

// pointed returns the line of a text that has a character, whose number counts from 1, and a mark below it.
func pointed(text string, character int) string {
	all := []rune(strings.ReplaceAll(text, "\t", " "))
	at := character - 1
	if at > len(all) {
		return ""
	}
	number, first := 1, 0
	for i, r := range all[:at] {
		if r != '\n' && r != '\r' {
			continue
		}
		if r == '\r' || i == 0 || all[i-1] != '\r' {
			number++
		}
		first = i + 1
	}
	end := at
	for end < len(all) && all[end] != '\n' && all[end] != '\r' {
		end++
	}
	columns := make([]int, len(all)+1) // where each character begins
	for i, r := range all {
		columns[i+1] = columns[i] + cell.Width(string(r))
	}
	before, after := "", ""
	if columns[end]-columns[first] > longestLine && columns[first]+longestLine >= columns[at]+rightOfMark {
		after = "..."
		for columns[end]-columns[first] > longestLine {
			end--
		}
	}
	for columns[end]-columns[first] > longestLine && columns[at]+rightOfMark < columns[end] {
		after = "..."
		end--
	}
	for columns[end]-columns[first] > longestLine {
		before = "..."
		first++
	}
	label := fmt.Sprintf("LINE %d: %s", number, before)
	return fmt.Sprintf("\n%s%s%s\n%*s^", label, string(all[first:end]), after, len(label)+columns[at]-columns[first], "")
}
