package main

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"aibox/test/terminal"
)

// recorded is a recording in which a row changes and a chapter begins.
var recorded = []frame{
	{lines: []string{"$ ", "", "\x1b[32mgreen\x1b[0m"}, hold: time.Second},
	{lines: []string{"$ aibox <&>", "", "\x1b[32mgreen\x1b[0m"}, hold: 500 * time.Millisecond, mark: "start"},
	{lines: []string{"$ ", "", "\x1b[32mgreen\x1b[0m"}, hold: 2 * time.Second},
}

func castOf(t *testing.T, frames []frame) string {
	t.Helper()
	var out bytes.Buffer
	if err := writeCast(&out, terminal.Size{Rows: 3, Cols: 20}, "A walk", frames); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestACastHoldsEachFrameWithItsTimeAndOnlyTheRowsThatChange(t *testing.T) {
	header, events, err := readCast(strings.NewReader(castOf(t, recorded)))
	if err != nil || header.Width != 20 || header.Height != 3 || header.Title != "A walk" {
		t.Fatalf("%+v, %v", header, err)
	}
	var got []string
	for _, e := range events {
		got = append(got, fmt.Sprint(e.at, " ", e.kind, " ", strings.ReplaceAll(e.data, "\x1b", "^")))
	}
	want := []string{
		"0s o ^[?25l^[?7l^[2J^[1;1H^[m^[2K$ ^[m^[3;1H^[m^[2K^[32mgreen^[0m^[m",
		"1s m start", "1s o ^[1;1H^[m^[2K$ aibox <&>^[m", "1.5s o ^[1;1H^[m^[2K$ ^[m", "3.5s o ^[m",
	}
	if !slices.Equal(got, want) {
		t.Errorf("the events are\n%s\nnot\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestAnAnimationShowsEachFrameInTurnAndDrawsEqualRowsOnce(t *testing.T) {
	picture, err := animate(strings.NewReader(castOf(t, recorded)), palettes[0])
	if err != nil {
		t.Fatal(err)
	}
	checkPicture(t, "animation", picture)
	for _, want := range []string{
		"@keyframes film{0%{transform:translateX(-0px)}28.571%{transform:translateX(-188px)}42.857%{transform:translateX(-376px)}100%",
		"animation:film 3.5s step-end infinite", "prefers-reduced-motion", "aibox &lt;&amp;&gt;",
	} {
		if !strings.Contains(picture, want) {
			t.Errorf("no %s in\n%s", want, picture)
		}
	}
	if drawn, used := strings.Count(picture, "<g id="), strings.Count(picture, "<use "); drawn != 3 || used != 6 {
		t.Errorf("%d rows are drawn and %d used", drawn, used)
	}
}

func TestTheLastColumnOfARowIsDrawn(t *testing.T) {
	row := []frame{{lines: []string{"1234567890123456 end", "", ""}, hold: time.Second}}
	picture, err := animate(strings.NewReader(castOf(t, row)), palettes[0])
	if err != nil || !strings.Contains(picture, "6 end</text>") {
		t.Errorf("%v, the picture is\n%s", err, picture)
	}
}

func TestABrokenCastIsAnError(t *testing.T) {
	for _, cast := range []string{"", "{\"version\":3}\n", castOf(t, recorded) + "[1]\n x", castOf(t, nil)} {
		if _, err := animate(strings.NewReader(cast), palettes[0]); err == nil {
			t.Errorf("%q is animated", cast)
		}
	}
}

func TestEqualFramesAreMergedAndLongWaitsAreThinned(t *testing.T) {
	var frames []frame
	for i := range 40 {
		frames = append(frames, frame{lines: []string{fmt.Sprint(i / 2)}, hold: time.Second})
	}
	merged := merge(frames)
	if len(merged) != 20 || merged[3].hold != 2*time.Second {
		t.Errorf("merged: %v", merged)
	}
	thinned := thin(merged, 5)
	if len(thinned) != 5 || thinned[0].lines[0] != "0" || thinned[4].lines[0] != "19" {
		t.Errorf("thinned: %v", thinned)
	}
}

func TestARecordingIsTheSameAtAnyTimeAndForAnyID(t *testing.T) {
	m := newMask(newWorld("aibox", "/home/user/ann"))
	for line, want := range map[string]string{
		"7kx2p-codex  until 13:00:00":              "0dq4f-codex  until 11:00:00",
		"/home/user/ann/shop ok":                   "/home/ann/shop      ok",
		"id 01a20600-87e6-7fb0-898a-656367e94665.": "id 0192f0a1-7c3e-7d52-9b64-3f8e5a1d2c70.",
	} {
		m.start = time.Date(0, 1, 1, 12, 0, 0, 0, time.UTC)
		if got := m.line(line); got != want {
			t.Errorf("%q is masked as %q, not %q", line, got, want)
		}
	}
}

// The files in docs/pictures are made by `make pictures`.
func TestTheRecordedWalkIsACompleteCast(t *testing.T) {
	data, err := os.ReadFile("../../docs/pictures/walk.cast")
	if err != nil {
		t.Fatal(err)
	}
	header, events, err := readCast(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	if header.Width != walkSize.Cols || header.Height != walkSize.Rows || header.Title == "" {
		t.Errorf("the header is %+v", header)
	}
	var at time.Duration
	var marks, wanted []string
	for i, e := range events {
		if e.at < at {
			t.Errorf("event %d is at %v, after %v", i, e.at, at)
		}
		at = e.at
		switch e.kind {
		case "m":
			marks = append(marks, e.data)
		case "o":
			if bad := regexp.MustCompile(`\x1b[^\[]|\x1b\[[^a-zA-Z]*[^HJKmlh0-9;?]`).FindString(e.data); bad != "" {
				t.Errorf("event %d holds %q", i, bad)
			}
		default:
			t.Errorf("event %d is of kind %q", i, e.kind)
		}
	}
	for _, a := range walk() {
		if a.mark != "" {
			wanted = append(wanted, a.mark)
		}
	}
	if !slices.Equal(marks, wanted) {
		t.Errorf("the chapters are %q, not %q", marks, wanted)
	}
	if at < 20*time.Second || at > 90*time.Second {
		t.Errorf("it takes %v", at)
	}
}

func TestThePicturesAreWellFormedAndNeedNothingElse(t *testing.T) {
	files, err := filepath.Glob("../../docs/pictures/*.svg")
	if err != nil || len(files) < 20 {
		t.Fatalf("%d pictures, %v", len(files), err)
	}
	for _, name := range []string{"walk-dark.svg", "walk-light.svg"} {
		if !slices.Contains(files, "../../docs/pictures/"+name) {
			t.Errorf("%s is missing", name)
		}
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if len(data) > 1<<20 {
			t.Errorf("%s has %d bytes", file, len(data))
		}
		checkPicture(t, file, string(data))
	}
}

// elements are those that pictures may have. None runs or loads anything.
var elements = []string{"svg", "style", "title", "defs", "g", "use", "rect", "path", "text"}

// checkPicture checks that a picture is well-formed and has no script or external reference.
func checkPicture(t *testing.T, name, picture string) {
	t.Helper()
	decoder := xml.NewDecoder(strings.NewReader(picture))
	for {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
			return
		}
		start, ok := token.(xml.StartElement)
		if !ok {
			continue
		}
		if !slices.Contains(elements, start.Name.Local) {
			t.Errorf("%s has the element %s", name, start.Name.Local)
		}
		for _, a := range start.Attr {
			if strings.HasPrefix(a.Name.Local, "on") || a.Name.Local == "href" && !strings.HasPrefix(a.Value, "#") {
				t.Errorf("%s has the attribute %s=%q", name, a.Name.Local, a.Value)
			}
		}
	}
	if style := regexp.MustCompile(`(?i)url\(|@import|javascript:`).FindString(picture); style != "" {
		t.Errorf("%s contains %s", name, style)
	}
}
