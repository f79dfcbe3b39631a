// Package termtext makes untrusted bytes safe to show on a terminal: a streaming filter for
// the output of agents and for diffs, and Escape for names inside aibox's own lines. It
// never prints anything itself. It never lets through a sequence that queries the terminal,
// writes its clipboard or title, makes a link, or moves the cursor to a line above.
//
// ansi.Strip of charmbracelet/x/ansi is not suitable: it removes all colors, needs the
// whole text at once, and keeps invisible and direction-changing characters.
package termtext
