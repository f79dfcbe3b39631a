package sandbox

import (
	"context"
	"encoding/base64"
	"slices"

	"aibox/internal/fault"
	"aibox/session"
)

// Filter selects sandboxes. Fields that are empty select all.
type Filter struct {
	States   []State
	Template string
	Name     string
	Metadata map[string]string // each entry must be equal
	Parent   session.ID        // the session whose agent created them
}

// match reports whether a filter selects a sandbox.
func (f *Filter) match(s *Sandbox) bool {
	if len(f.States) > 0 && !slices.Contains(f.States, s.State) || f.Template != "" && f.Template != s.Template || f.Name != "" && f.Name != s.Name {
		return false
	}
	if f.Parent != "" && f.Parent != s.Parent {
		return false
	}
	for key, value := range f.Metadata {
		if actual, ok := s.Metadata[key]; !ok || actual != value {
			return false
		}
	}
	return true
}

// The sizes of pages.
const (
	DefaultPage = 100
	MaxPage     = 1000
)

// Page is a part of a list, newest first.
type Page struct {
	Sandboxes []Sandbox
	Next      string // the token of the next page; empty at the end
}

// List returns a page of the sandboxes of the tenant and of the agents of its sessions,
// newest first, at most size; 0 means DefaultPage. token is empty or the Next of the
// previous page.
func (s *Service) List(_ context.Context, tenant session.Tenant, filter Filter, size int, token string) (Page, error) {
	before, err := parseToken(token)
	if err != nil {
		return Page{}, err
	}
	if size < 0 || size > MaxPage {
		return Page{}, fault.New(fault.Usage, "a page has up to %d sandboxes, not %d", MaxPage, size)
	}
	if size == 0 {
		size = DefaultPage
	}
	all, err := s.Sessions.VisibleSandboxes(tenant)
	if err != nil && len(all) == 0 {
		return Page{}, err
	}
	page := Page{Sandboxes: []Sandbox{}}
	for i := range slices.Backward(all) {
		if before != "" && all[i].ID >= before {
			continue
		}
		v := view(&all[i])
		if !filter.match(&v) {
			continue
		}
		if len(page.Sandboxes) == size {
			page.Next = makeToken(page.Sandboxes[size-1].ID)
			break
		}
		page.Sandboxes = append(page.Sandboxes, v)
	}
	return page, nil
}

// A token is the id of the last sandbox of its page. Ids sort by age, so no sandbox is
// repeated or omitted when others are created or removed between two pages.

func makeToken(last session.ID) string {
	return base64.RawURLEncoding.EncodeToString([]byte(last))
}

func parseToken(token string) (session.ID, error) {
	if token == "" {
		return "", nil
	}
	text, err := base64.RawURLEncoding.DecodeString(token)
	if err == nil {
		var id session.ID
		if id, err = session.ParseID(string(text)); err == nil {
			return id, nil
		}
	}
	return "", fault.New(fault.Usage, "%q is not the token of a page", token)
}
