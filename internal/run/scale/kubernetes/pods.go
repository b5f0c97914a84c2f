package kubernetes

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// pod contains the fields of a pod that brunt reads.
type pod struct {
	Metadata struct {
		Name    string            `json:"name"`
		UID     string            `json:"uid"`
		Labels  map[string]string `json:"labels"`
		Notes   map[string]string `json:"annotations"`
		Created time.Time         `json:"creationTimestamp"`
	} `json:"metadata"`
	Spec struct {
		Node string `json:"nodeName"`
	} `json:"spec"`
	Status struct {
		Phase      string      `json:"phase"`
		Reason     string      `json:"reason"`
		Message    string      `json:"message"`
		Conditions []condition `json:"conditions"`
		Containers []struct {
			Image string `json:"image"`
			State struct {
				Waiting    *waiting    `json:"waiting"`
				Terminated *terminated `json:"terminated"`
			} `json:"state"`
		} `json:"containerStatuses"`
	} `json:"status"`
}

type condition struct {
	Type    string `json:"type"`
	Status  string `json:"status"`
	Reason  string `json:"reason"`
	Message string `json:"message"`
}

type waiting struct {
	Reason  string `json:"reason"`
	Message string `json:"message"`
}

type terminated struct {
	ExitCode int    `json:"exitCode"`
	Signal   int    `json:"signal"`
	Reason   string `json:"reason"`
	Message  string `json:"message"`
}

// index returns the number of the pod's worker, from 0, or -1 if it has none.
func (p *pod) index() int {
	text, ok := p.Metadata.Labels[indexLabel]
	if !ok {
		text = p.Metadata.Notes[indexLabel]
	}
	k, err := strconv.Atoi(text)
	if err != nil {
		return -1
	}
	return k
}

// newest returns the most recently created pod of each worker.
func newest(pods []pod) map[int]*pod {
	found := map[int]*pod{}
	for i := range pods {
		p := &pods[i]
		if have := found[p.index()]; have == nil || have.Metadata.Created.Before(p.Metadata.Created) {
			found[p.index()] = p
		}
	}
	return found
}

// disrupted reports whether the cluster ended the pod: it was evicted or preempted, or its node was lost.
func (p *pod) disrupted() bool {
	return slices.ContainsFunc(p.Status.Conditions, func(c condition) bool {
		return c.Type == "DisruptionTarget" && c.Status == "True"
	})
}

// end reports whether the pod has ended, and describes how.
func (p *pod) end() (how string, ended bool) {
	if p.Status.Phase != "Failed" && p.Status.Phase != "Succeeded" {
		return "", false
	}
	name := "pod " + p.Metadata.Name
	for _, c := range p.Status.Containers {
		t := c.State.Terminated
		if t == nil {
			continue
		}
		how = fmt.Sprintf("%s ended with exit code %d", name, t.ExitCode)
		if t.Reason != "" && t.Reason != "Error" && t.Reason != "Completed" {
			how += " (" + t.Reason + ")"
		}
		if said := lastLine(t.Message); said != "" && t.ExitCode != 0 {
			how += ": " + said
		}
		return how, true
	}
	how = fmt.Sprintf("%s ended: %s %s", name, p.Status.Reason, p.Status.Message)
	return strings.TrimSuffix(strings.TrimSpace(how), ":"), true
}

// lastLine returns the last non-empty line of a program's output, without the prefix "brunt: ".
func lastLine(text string) string {
	text = strings.TrimSpace(text)
	return strings.TrimPrefix(text[strings.LastIndexByte(text, '\n')+1:], "brunt: ")
}

// state describes the pod's state for people.
func (p *pod) state() string {
	if t := p.problem(); t.text != "" {
		return t.text
	}
	if how, ended := p.end(); ended {
		return how
	}
	if p.Status.Phase == "Running" {
		return fmt.Sprintf("pod %s runs on node %s", p.Metadata.Name, p.Spec.Node)
	}
	text := fmt.Sprintf("pod %s is %s", p.Metadata.Name, p.Status.Phase)
	if p.Spec.Node != "" {
		text += " on node " + p.Spec.Node
	}
	return text
}

// problem is a problem that keeps a pod from running. Pods with the same problem have the same text.
type problem struct {
	text  string // "" means no problem
	final bool   // the problem doesn't go away by waiting
}

// problem returns the problem that keeps the pod from running, if any.
func (p *pod) problem() problem {
	for _, c := range p.Status.Conditions {
		if c.Type == "PodScheduled" && c.Status == "False" {
			return problem{text: fmt.Sprintf(
				"no node takes its pod (%s): %s; ask for less with --cpu and --memory, or for fewer --workers", c.Reason, c.Message)}
		}
	}
	for _, c := range p.Status.Containers {
		w := c.State.Waiting
		if w == nil {
			continue
		}
		switch w.Reason {
		case "ErrImagePull":
			return problem{text: pulling(c.Image, w)}
		case "ImagePullBackOff", "ErrImageNeverPull", "InvalidImageName", "ImageInspectError", "RegistryUnavailable":
			return problem{text: pulling(c.Image, w), final: true}
		case "CreateContainerConfigError", "CreateContainerError", "RunContainerError":
			return problem{text: fmt.Sprintf("its container can't be started (%s): %s", w.Reason, w.Message), final: true}
		}
	}
	return problem{}
}

func pulling(image string, w *waiting) string {
	return fmt.Sprintf("the image %s can't be pulled (%s): %s; see --image and --image-pull-secret", image, w.Reason, w.Message)
}

// event contains the fields of an event that brunt reads.
type event struct {
	Reason  string `json:"reason"`
	Message string `json:"message"`
}

// jobProblem returns the problem that keeps the Job from creating pods, if any.
func (c *Client) jobProblem(ctx context.Context, name string) problem {
	var list struct {
		Items []event `json:"items"`
	}
	selector := url.QueryEscape("involvedObject.kind=Job,involvedObject.name=" + name)
	if err := c.do(ctx, http.MethodGet, c.path("", "events")+"?fieldSelector="+selector, nil, &list); err != nil {
		return problem{} // the missing pods are reported in any case
	}
	for _, e := range list.Items {
		if e.Reason == "FailedCreate" {
			return problem{text: "its pod can't be created: " + withRemedy(withoutPod(e.Message, name)),
				final: strings.Contains(e.Message, "forbidden")}
		}
	}
	return problem{}
}

// withoutPod removes the pod's random name from a message, so that equal problems have equal texts.
func withoutPod(message, job string) string {
	const begin = "Error creating: "
	text := strings.TrimPrefix(message, begin)
	if rest, ok := strings.CutPrefix(text, `pods "`+job); ok {
		if _, after, ok := strings.Cut(rest, `" `); ok {
			return strings.TrimPrefix(after, "is forbidden: ")
		}
	}
	return text
}

// withRemedy appends to the reason why a pod isn't created what to do about it.
func withRemedy(why string) string {
	switch {
	case strings.Contains(why, "exceeded quota"):
		return why + "; ask for less with --cpu and --memory, use fewer --workers, or have the quota raised"
	case strings.Contains(why, "failed quota"): // the quota counts a limit that the pods don't have
		return why + "; have a LimitRange set what is missing"
	}
	return why
}

// mostNumbers limits how many workers a text lists.
const mostNumbers = 8

// numbers lists workers for people, numbered from 1.
func numbers(workers []int) string {
	var all []string
	for i, k := range workers {
		if i == mostNumbers && len(workers) > mostNumbers+1 {
			return fmt.Sprintf("%s and %d more", strings.Join(all, ", "), len(workers)-i)
		}
		all = append(all, strconv.Itoa(k+1))
	}
	return strings.Join(all, ", ")
}
