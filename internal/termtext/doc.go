// Package termtext makes untrusted bytes safe to show on a person's terminal:
// a streaming filter for the output of agents and for diffs, and Escape for
// names that stand inside a line of ours. It never prints anything itself and
// never lets through a sequence that asks the terminal a question, writes its
// clipboard or title, makes a link, or moves the cursor to a line above.
package termtext
