package e2b

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"connectrpc.com/connect"

	aiboxv1 "aibox/api/aibox/v1"
)

// nextHeader has the token of the next page.
const nextHeader = "X-Next-Token"

// maxPage is the maximum number of sandboxes of a page.
const maxPage = 1000

// listFilter is the query of a list.
type listFilter struct {
	request *aiboxv1.ListSandboxesRequest
	after   time.Time // sandboxes that started before are left out
}

// listRunning lists the running sandboxes.
func (s *Server) listRunning(w http.ResponseWriter, r *http.Request) error {
	query := r.URL.Query()
	query.Set("state", stateRunning)
	return s.list(w, r, query)
}

// listSandboxes lists a page of the sandboxes that run or are paused, newest first.
func (s *Server) listSandboxes(w http.ResponseWriter, r *http.Request) error {
	return s.list(w, r, r.URL.Query())
}

func (s *Server) list(w http.ResponseWriter, r *http.Request, query url.Values) error {
	filter, err := parseFilter(query)
	if err != nil {
		return err
	}
	page, err := s.backend.sandboxes.List(r.Context(), connect.NewRequest(filter.request))
	if err != nil {
		return err
	}
	next, found := page.Msg.NextPageToken, []sandboxJSON{}
	for _, sandbox := range page.Msg.Sandboxes {
		if sandbox.CreateTime.AsTime().Before(filter.after) {
			continue // others can follow: one that was kept warm was made before it started
		}
		if sandbox.GetParentId() == "" { // a session's agent uses it, not the tenant's programs
			found = append(found, s.describe(r, sandbox))
		}
	}
	if next != "" {
		w.Header().Set(nextHeader, next)
	}
	writeJSON(w, http.StatusOK, found)
	return nil
}

// parseFilter reads the query of a list.
func parseFilter(query url.Values) (listFilter, error) {
	states, err := parseStates(query.Get("state"))
	if err != nil {
		return listFilter{}, err
	}
	metadata, err := parseMetadata(query.Get("metadata"))
	if err != nil {
		return listFilter{}, err
	}
	f := listFilter{request: &aiboxv1.ListSandboxesRequest{
		States: states, Metadata: metadata, Template: templateName(query.Get("template")), PageToken: query.Get("nextToken"),
	}}
	if text := query.Get("limit"); text != "" {
		size, err := strconv.ParseInt(text, 10, 32)
		if err != nil || size < 1 || size > maxPage {
			return listFilter{}, &apiError{http.StatusBadRequest, "the limit is between 1 and " + strconv.Itoa(maxPage)}
		}
		f.request.PageSize = int32(size)
	}
	if text := query.Get("startedAfter"); text != "" {
		if f.after, err = time.Parse(time.RFC3339, text); err != nil {
			return listFilter{}, &apiError{http.StatusBadRequest, "startedAfter is a time such as 2006-01-02T15:04:05Z"}
		}
	}
	if order := query.Get("order"); order != "" && order != "desc" {
		return listFilter{}, &apiError{http.StatusBadRequest, "aibox lists the newest sandbox first: leave out the order"}
	}
	return f, nil
}

var listStates = map[string]aiboxv1.SandboxState{
	stateRunning: aiboxv1.SandboxState_SANDBOX_STATE_RUNNING,
	statePaused:  aiboxv1.SandboxState_SANDBOX_STATE_PAUSED,
}

// parseStates reads states that are separated by commas. None means all.
func parseStates(text string) ([]aiboxv1.SandboxState, error) {
	if text == "" {
		text = stateRunning + "," + statePaused
	}
	var states []aiboxv1.SandboxState
	for word := range strings.SplitSeq(text, ",") {
		state, ok := listStates[word]
		if !ok {
			return nil, &apiError{http.StatusBadRequest, strconv.Quote(word) + " is no state of a sandbox: use running or paused"}
		}
		if !slices.Contains(states, state) {
			states = append(states, state)
		}
	}
	return states, nil
}

// parseMetadata reads KEY=VALUE pairs. They are a query inside a query, in which the
// packages encode each key and value a second time.
func parseMetadata(text string) ([]string, error) {
	invalid := &apiError{http.StatusBadRequest, "the metadata is not a query such as user=1&app=2"}
	pairs, err := url.ParseQuery(text)
	if err != nil {
		return nil, invalid
	}
	var entries []string
	for key, values := range pairs {
		for _, value := range values {
			k, keyErr := url.PathUnescape(key)
			v, valueErr := url.PathUnescape(value)
			if keyErr != nil || valueErr != nil || k == "" || strings.Contains(k, "=") {
				return nil, invalid
			}
			entries = append(entries, k+"="+v)
		}
	}
	slices.Sort(entries)
	return entries, nil
}
