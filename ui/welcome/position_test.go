package welcome

import (
	"fmt"
	"strings"
	"testing"

	"aibox/app/firstrun"
)

func TestLongListsShowWhichAgentsAndModelsAreHidden(t *testing.T) {
	w := newWorld(daemon)
	local := firstrun.Server{Inference: "ollama", Title: "ollama", Local: true}
	for i := range 40 {
		name := fmt.Sprintf("name%02d", i)
		w.agents = append(w.agents, firstrun.Agent{Name: name, Title: name, Image: name})
		local.Models = append(local.Models, name)
		w.names = append(w.names, name)
	}
	w.models.Servers = []firstrun.Server{local, gemini}
	s := open(t, w)
	s.sees("of 43", "1-")
	s.press("tab")
	s.sees("1-")
	s.sees(fmt.Sprintf("of %d", len(s.model.rows)))
	s.press("end", "up", "enter")
	s.sees("of 43")
	s.height = 80
	if view := s.view(); strings.Contains(view, "of 43") {
		t.Errorf("rows are hidden where all fit:\n%s", view)
	}
}
