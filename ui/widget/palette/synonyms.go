package palette

import (
	"strings"
	"unicode"
)

// synonyms maps a word of a command's help text to other words that users type for it.
var synonyms = map[string]string{
	"accept":      "merge apply commit deliver approve",
	"again":       "rerun repeat retry refresh",
	"attach":      "connect join terminal",
	"back":        "leave close exit return",
	"bake":        "build rebuild",
	"baked":       "build",
	"cancel":      "abort stop",
	"clear":       "reset",
	"clone":       "copy",
	"command":     "shell cli",
	"comment":     "feedback note reply send",
	"compare":     "batch versus side difference",
	"copy":        "clipboard yank",
	"diff":        "changes compare patch",
	"discard":     "delete drop abandon throw",
	"edit":        "change set modify",
	"feedback":    "back comment reply send",
	"filter":      "search find",
	"fix":         "repair",
	"fork":        "copy branch clone duplicate",
	"group":       "sort",
	"help":        "keys shortcuts",
	"images":      "bake build docker agents",
	"interrupt":   "signal kill",
	"isolation":   "security sandbox probes",
	"leave":       "back close exit",
	"locks":       "firewall guard netguard",
	"log":         "output",
	"machine":     "doctor health docker",
	"mark":        "select",
	"more":        "extend longer",
	"network":     "traffic requests egress",
	"new":         "start create launch",
	"next":        "forward",
	"open":        "show view log logs output",
	"order":       "sort",
	"output":      "log logs tail",
	"previous":    "back",
	"probes":      "proof isolation",
	"prove":       "test probes security",
	"quit":        "exit leave close",
	"reject":      "refuse no discard",
	"reload":      "refresh reread",
	"remove":      "delete rm",
	"restore":     "undo recover undelete",
	"resume":      "continue send feedback",
	"review":      "changes diff inspect hunks",
	"scrollback":  "log logs history terminal",
	"search":      "find filter grep",
	"send":        "resume feedback reply continue",
	"sessions":    "dashboard home list",
	"settings":    "config preferences options",
	"snapshot":    "checkpoint save state memory freeze store",
	"snapshots":   "checkpoint saved state restore sandboxes",
	"sort":        "order",
	"start":       "run launch",
	"stop":        "kill end terminate",
	"take":        "accept merge yes approve choose",
	"time":        "extend timeout",
	"undo":        "revert back",
	"verify":      "check test",
	"whitespace":  "blanks spaces",
	"workspace":   "shell folder files",
	"working":     "worktree files",
	"interactive": "talk chat attach",
}

// alike scores a search by whole words: each typed word must begin a word of the text or
// one of its synonyms.
func alike(typed, text string) (score int, ok bool) {
	want := words(typed)
	if len(want) == 0 {
		return 0, false
	}
	have := words(text)
	for _, word := range words(text) {
		have = append(have, strings.Fields(synonyms[word])...)
	}
	for _, prefix := range want {
		best := -1
		for _, word := range have {
			if strings.HasPrefix(word, prefix) {
				found, _ := match(prefix, word)
				best = max(best, found)
			}
		}
		if best < 0 {
			return 0, false
		}
		score += best
	}
	return score, true
}

// words returns the words of a text in lower case.
func words(text string) []string {
	return strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
}
