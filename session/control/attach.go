package control

import (
	"net/http"
	"strconv"

	"aibox/internal/screen"
)

// attachProtocol is the protocol to which the attach request upgrades its connection.
const attachProtocol = "aibox-terminal/1"

// serveAttach upgrades a request's connection to a two-way stream of frames with the
// agent's terminal.
func serveAttach(c Session) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		term := c.Terminal()
		if term == nil {
			http.Error(w, "it was not started with -i", http.StatusConflict)
			return
		}
		serveTerminal(w, r, term)
	}
}

// serveTerminal is serveAttach for one terminal.
func serveTerminal(w http.ResponseWriter, r *http.Request, term Terminal) {
	rows, rowsErr := strconv.ParseUint(r.FormValue("rows"), 10, 16)
	cols, colsErr := strconv.ParseUint(r.FormValue("cols"), 10, 16)
	colors, colorsErr := strconv.ParseUint(r.FormValue("colors"), 10, 32)
	if rowsErr != nil || colsErr != nil || colorsErr != nil || r.Header.Get("Upgrade") != attachProtocol {
		http.Error(w, "attach takes rows, cols, colors and an upgrade to "+attachProtocol, http.StatusBadRequest)
		return
	}
	conn, buffered, err := upgrade(w, attachProtocol)
	if err != nil {
		return
	}
	term.Serve(conn, NewFrameReader(buffered), screen.Size{Rows: int(rows), Cols: int(cols)}, screen.Colors(colors))
}

// serveScreen sends the screen of the agent's terminal, as text with colors.
func serveScreen(c Session) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		term := c.Terminal()
		if term == nil {
			http.Error(w, "it was not started with -i", http.StatusConflict)
			return
		}
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		_, _ = w.Write(term.Text())
	}
}
