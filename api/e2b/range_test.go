package e2b

import (
	"strings"
	"testing"
)

func TestADownloadContinuesWhereItWasCutOff(t *testing.T) {
	fake, _, front := serve(t)
	a := create(t, front, "token-a")
	fake.files.content["/f"] = []byte("0123456789")
	for header, want := range map[string]struct {
		status             int
		body, contentRange string
	}{
		"bytes=0-":                           {206, "0123456789", "bytes 0-9/10"},
		"bytes=4-":                           {206, "456789", "bytes 4-9/10"},
		"bytes=4-5":                          {206, "45", "bytes 4-5/10"},
		"bytes=4-99":                         {206, "456789", "bytes 4-9/10"},
		"bytes=-3":                           {206, "789", "bytes 7-9/10"},
		"bytes=-99":                          {206, "0123456789", "bytes 0-9/10"},
		"bytes=10-":                          {416, "", "bytes */10"},
		"bytes=-0":                           {416, "", "bytes */10"},
		"bytes=5-4":                          {200, "0123456789", ""},
		"bytes=":                             {200, "0123456789", ""},
		"bytes=-":                            {200, "0123456789", ""},
		"bytes=1-2,4-5":                      {200, "0123456789", ""},
		"bytes=x-":                           {200, "0123456789", ""},
		"lines=1-2":                          {200, "0123456789", ""},
		"bytes=1-" + strings.Repeat("9", 30): {200, "0123456789", ""},
	} {
		status, body, got := exchange(t, front, "GET", "/e2b/files?path=/f", nil, append(inside(a), "Range", header)...)
		if status != want.status || got.Get("Content-Range") != want.contentRange || status != 416 && (body != want.body || got.Get("Accept-Ranges") != "bytes") {
			t.Errorf("%s: %d %q %v", header, status, body, got)
		}
	}
	if status, body, _ := exchange(t, front, "GET", "/e2b/files?path=/f", nil, append(inside(a), "Range", "bytes=4-", "If-Range", `"x"`)...); status != 200 || body != "0123456789" {
		t.Errorf("with a validator: %d %q", status, body)
	}
	if status, body, _ := exchange(t, front, "GET", "/e2b/files?path=/none", nil, append(inside(a), "Range", "bytes=4-")...); status != 404 {
		t.Errorf("a missing file: %d %q", status, body)
	}
}
