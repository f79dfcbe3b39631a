package server

import (
	"context"
	"net/url"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protojson"

	aiboxv1 "aibox/api/aibox/v1"
	"aibox/internal/files"
	"aibox/session"
)

// listed lists names, sorted as bytes, like the program in the sandbox.
type listed struct {
	noFiles
	names []string
}

func (l listed) List(_ context.Context, _ files.Path, o files.ListOptions) (page files.Page, _ error) {
	for _, name := range l.names {
		switch {
		case name <= string(o.After):
		case len(page.Entries) == o.Limit:
			page.Next = page.Entries[o.Limit-1].Path
			return page, nil
		default:
			page.Entries = append(page.Entries, files.Entry{Path: files.Path(name)})
		}
	}
	return page, nil
}

// A program in the sandbox chooses the names. A client that asks for the next page until there is
// none must not do so forever.
func TestAListOfFilesEndsWhateverTheirNamesAre(t *testing.T) {
	all := listed{names: []string{"/a", "/a\xf0", "/a\xf1", "/a\xff", "/b", "/\xc3\x28", "/é"}}
	slices.Sort(all.names)
	s := newSite(t, func(o *Options) {
		o.Services.Files = func(context.Context, session.ID, string) Files { return all }
	})
	path, token := "/v1/sandboxes/"+s.sandbox("a")+"/files?path=/&page_size=1&page_token=", bearer(s.token("a"))
	var seen []string
	for next, first := "", true; first || next != "" && len(seen) <= len(all.names); first = false {
		got := s.request("GET", path+url.QueryEscape(next), "", token)
		var page aiboxv1.ListFilesResponse
		if err := protojson.Unmarshal([]byte(got.body), &page); got.status != 200 || err != nil || len(page.GetEntries()) != 1 {
			t.Fatalf("%d %s", got.status, got.body)
		}
		seen, next = append(seen, page.GetEntries()[0].GetPath()), page.GetNextPageToken()
	}
	want := make([]string, len(all.names))
	for i, name := range all.names {
		want[i] = strings.ToValidUTF8(name, "\uFFFD")
	}
	if !slices.Equal(seen, want) {
		t.Errorf("the pages have %q, not %q", seen, want)
	}
	if got := s.request("GET", path+"%2Fa", "", token); got.status != 400 || !strings.Contains(got.body, "token of a page") {
		t.Errorf("a forged token: %d %s", got.status, got.body)
	}
}
