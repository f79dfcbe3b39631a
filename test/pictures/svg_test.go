package main

import (
	"encoding/xml"
	"errors"
	"io"
	"regexp"
	"strings"
	"testing"
)

// drawn is a small screen with everything that a picture has to get right.
var drawn = []string{
	"\x1b[1maibox\x1b[0m  a < b & \"c\"",
	"\x1b[90m╭──┬─╮\x1b[0m",
	"\x1b[90m│\x1b[0m\x1b[7mat\x1b[0m\x1b[90m│ │\x1b[0m",
	"\x1b[90m╰──┴─╯\x1b[0m",
	"\x1b[92m+1\x1b[0m   \x1b[38;2;1;2;3;48;5;17mdeep\x1b[0m 漢字x",
	"\x1b[2mfaint\x1b[0m\x1b[4munder\x1b[0m",
}

func TestAPictureSaysWhatTheTerminalShows(t *testing.T) {
	for _, p := range palettes {
		picture := svg(drawn, 24, 6, p)
		for _, want := range []string{
			`a &lt; b &amp; &#34;c&#34;</text>`, `>漢</text>`, `>字</text>`, `fill="#00005f"`, "fill:#010203", "font-weight:bold", "fill-opacity:.65",
			"text-decoration:underline", `fill="` + p.text + `"`, // behind what is turned around
			"fill:" + p.back, "fill:" + p.basic[10], `stroke="` + p.basic[8] + `"`,
		} {
			if !strings.Contains(picture, want) {
				t.Errorf("%s: no %s in\n%s", p.name, want, picture)
			}
		}
		decoder := xml.NewDecoder(strings.NewReader(picture))
		for {
			if _, err := decoder.Token(); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatalf("%s: %v", p.name, err)
			}
		}
	}
}

func TestLinesOfAFrameAreDrawnAndEachIsOne(t *testing.T) {
	picture := svg(drawn, 24, 6, palettes[0])
	if text := regexp.MustCompile(`>[^<]*[─│╭╮╰╯┬┴][^<]*</text>`).FindString(picture); text != "" {
		t.Errorf("a line is text: %s", text)
	}
	path := regexp.MustCompile(` d="([^"]*)"`).FindStringSubmatch(picture)[1]
	// Above and below, and three downward.
	if across, down := strings.Count(path, "H"), strings.Count(path, "V"); across != 2 || down != 3 {
		t.Errorf("%d lines across and %d down: %s", across, down, path)
	}
}

func TestARowInColorGoesToTheEnd(t *testing.T) {
	picture := svg([]string{"", "\x1b[44mrow\x1b[0m", "\x1b[44mpart\x1b[0m ", ""}, 24, 4, palettes[0])
	for _, want := range []string{`width="201.6" height="17" fill="#5f9be6"`, `width="33.6" height="17" fill="#5f9be6"`} {
		if strings.Count(picture, want) != 1 {
			t.Errorf("no %s in\n%s", want, picture)
		}
	}
}

func TestTheSameScreenGivesTheSamePicture(t *testing.T) {
	first := svg(drawn, 24, 6, palettes[0])
	for range 10 {
		if svg(drawn, 24, 6, palettes[0]) != first {
			t.Fatal("it differs from time to time")
		}
	}
}
