package main

import (
	"regexp"
	"strings"
	"testing"
)

// drawn is a small screen with every kind of content.
var drawn = []string{
	"\x1b[1maibox\x1b[0m  a < b & \"c\"",
	"\x1b[90m╭──┬─╮\x1b[0m",
	"\x1b[90m│\x1b[0m\x1b[7mat\x1b[0m\x1b[90m│ │\x1b[0m",
	"\x1b[90m╰──┴─╯\x1b[0m",
	"\x1b[92m+1\x1b[0m   \x1b[38;2;1;2;3;48;5;17mdeep\x1b[0m 漢字x",
	"\x1b[2mfaint\x1b[0m\x1b[4munder\x1b[0m",
}

func TestAPictureShowsTheTextOfTheTerminal(t *testing.T) {
	for _, p := range palettes {
		picture := svg(drawn, 24, 6, p)
		for _, want := range []string{
			`a &lt; b &amp; &#34;c&#34;</text>`, `>漢</text>`, `>字</text>`, `fill="#00005f"`, "fill:#010203", "font-weight:bold", "fill-opacity:.65",
			"text-decoration:underline", `fill="` + p.text + `"`, // the background of reversed text
			"fill:" + p.back, "fill:" + p.basic[10], `stroke="` + p.basic[8] + `"`,
		} {
			if !strings.Contains(picture, want) {
				t.Errorf("%s: no %s in\n%s", p.name, want, picture)
			}
		}
		checkPicture(t, p.name, picture)
	}
}

func TestBoxDrawingCharactersAreDrawnAsWholeLines(t *testing.T) {
	picture := svg(drawn, 24, 6, palettes[0])
	if text := regexp.MustCompile(`>[^<]*[─│╭╮╰╯┬┴][^<]*</text>`).FindString(picture); text != "" {
		t.Errorf("a line is drawn as text: %s", text)
	}
	path := regexp.MustCompile(` d="([^"]*)"`).FindStringSubmatch(picture)[1]
	// Two horizontal and three vertical lines.
	if across, down := strings.Count(path, "H"), strings.Count(path, "V"); across != 2 || down != 3 {
		t.Errorf("%d lines across and %d down: %s", across, down, path)
	}
}

func TestABackgroundIsAsWideAsItsCells(t *testing.T) {
	picture := svg([]string{"", "\x1b[44mrow" + strings.Repeat(" ", 21) + "\x1b[0m", "\x1b[44mpart\x1b[0m ", ""}, 24, 4, palettes[0])
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
			t.Fatal("two pictures of the same screen differ")
		}
	}
}
