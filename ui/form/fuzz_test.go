package form

import (
	"reflect"
	"testing"

	"aibox/agents/spec"
	"aibox/ui/widget/theme"

	tea "charm.land/bubbletea/v2"
	"pgregory.net/rapid"
)

// keysOfAll are the keys that mean something somewhere, and a few that do not.
var keysOfAll = []tea.KeyPressMsg{
	{Code: tea.KeyEnter},
	{Code: tea.KeyTab},
	{Code: tea.KeyTab, Mod: tea.ModShift},
	{Code: tea.KeyUp},
	{Code: tea.KeyDown},
	{Code: tea.KeyLeft},
	{Code: tea.KeyRight},
	{Code: tea.KeyHome},
	{Code: tea.KeyEnd},
	{Code: tea.KeyPgUp},
	{Code: tea.KeyPgDown},
	{Code: tea.KeyBackspace},
	{Code: tea.KeyDelete},
	{Code: tea.KeySpace, Text: " "},
	{Code: tea.KeyF1},
	{Code: 's', Mod: tea.ModCtrl},
	{Code: 'o', Mod: tea.ModCtrl},
	{Code: 'a', Mod: tea.ModCtrl},
	{Code: 'd', Mod: tea.ModCtrl},
	{Code: 'u', Mod: tea.ModCtrl},
	{Code: 'n', Mod: tea.ModCtrl},
	{Code: 'p', Mod: tea.ModCtrl},
	{Code: 'e', Mod: tea.ModCtrl},
	{Code: 'j', Mod: tea.ModCtrl},
	{Code: 'k', Mod: tea.ModCtrl},
	{Code: 'w', Mod: tea.ModCtrl},
	{Code: '/', Text: "/"},
	{Code: 'j', Text: "j"},
	{Code: 'k', Text: "k"},
	{Code: 'g', Text: "g"},
	{Code: 'G', Text: "G"},
	{Code: 'x', Text: "x"},
	{Code: 'y', Text: "y"},
	{Code: '1', Text: "1"},
	{Code: '"', Text: `"`},
	{Code: ',', Text: ","},
	{Code: 'é', Text: "é"},
	{Code: tea.KeyEscape},
	{Code: 'a', Mod: tea.ModAlt, Text: "a"},
}

// play sends messages chosen by bytes, and draws the part after each.
func play(t interface{ Fatalf(string, ...any) }, p *Part, stream []byte) {
	for i, b := range stream {
		var msg tea.Msg = keysOfAll[int(b)%len(keysOfAll)]
		switch b {
		case 255:
			p.SetSize(i*7%130, i*3%50)
			continue
		case 254:
			msg = tea.PasteMsg{Content: "a\nb\x00c\x1b[31m"}
		case 253:
			msg = suggested{p.f, p.f.asked, "model", []string{"one", "two"}}
		case 252:
			p.SetTheme(theme.New(i%2 == 0))
			continue
		}
		p.Update(msg)
		if lines := p.View(true); len(lines) != p.f.height {
			t.Fatalf("%d lines instead of %d", len(lines), p.f.height)
		}
	}
}

func checkStream(t interface{ Fatalf(string, ...any) }, stream []byte) {
	options := &everything{}
	if err := spec.Defaults(options); err != nil {
		t.Fatalf("%v", err)
	}
	before := spec.Clone(options)
	p := NewPart(Request{Options: options})
	p.SetSize(80, 24)
	play(t, p, stream)
	if !reflect.DeepEqual(options, before) {
		t.Fatalf("the options were written: %+v", options)
	}
	if err := spec.Validate(p.Draft()); p.Problem() == nil && err != nil {
		t.Fatalf("no problem with an invalid draft: %v", err)
	}
}

func TestNoKeysBreakAPartOrChangeTheOptions(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		checkStream(t, rapid.SliceOfN(rapid.Byte(), 0, 40).Draw(t, "keys"))
	})
}

func FuzzKeys(f *testing.F) {
	f.Add([]byte{0, 26, 37, 4, 0, 15, 0})
	f.Add([]byte{26, 33, 4, 4, 37, 13, 254, 255, 15})
	f.Fuzz(func(t *testing.T, stream []byte) { checkStream(t, stream[:min(len(stream), 200)]) })
}
