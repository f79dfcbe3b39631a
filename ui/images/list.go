package images

import (
	"slices"

	"aibox/bakery"
)

// row is an image, with its bake if there is one.
type row struct {
	bakery.Status
	job *bakery.Job // nil: none in this program
}

// working reports whether the image waits or is at work.
func (r *row) working() bool { return r.job != nil && !r.job.State.Over() }

// arrange makes the rows again. The selected image stays selected.
func (m *Model) arrange() {
	m.rows = m.rows[:0]
	for _, s := range m.states {
		m.rows = append(m.rows, row{Status: s, job: m.jobOf(s.Name)})
	}
	for i := range m.jobs { // of an image that the list does not have, or not yet
		if job := &m.jobs[i]; !slices.ContainsFunc(m.states, func(s bakery.Status) bool { return s.Name == job.Name }) {
			m.rows = append(m.rows, row{Status: bakery.Status{Name: job.Name}, job: job})
		}
	}
	m.cursor.Fit(len(m.rows), m.listHeight())
	if i := slices.IndexFunc(m.rows, func(r row) bool { return r.Name == m.at }); i >= 0 {
		m.cursor.Go(i)
	}
	m.keepSelection()
	m.fitLog()
}

// fitLog passes the output of the selected image to the log, which closes when there is
// no bake of it any more.
func (m *Model) fitLog() {
	if !m.log.open {
		return
	}
	r := m.current()
	if r == nil || r.job == nil {
		m.log.open = false
		return
	}
	m.log.fit(r.job.Log, m.bodyHeight())
}

func (m *Model) jobOf(name string) *bakery.Job {
	for i := range m.jobs {
		if m.jobs[i].Name == name {
			return &m.jobs[i]
		}
	}
	return nil
}

// keepSelection keeps the image that the user went to.
func (m *Model) keepSelection() {
	if r := m.current(); r != nil {
		m.at = r.Name
	}
}

// current returns the selected image, nil while there is none.
func (m *Model) current() *row {
	if m.cursor.At() >= len(m.rows) {
		return nil
	}
	return &m.rows[m.cursor.At()]
}

// targets returns the images that a key is for: the marked ones, or the selected one.
func (m *Model) targets() []string {
	var names []string
	for _, r := range m.rows {
		if m.marked[r.Name] {
			names = append(names, r.Name)
		}
	}
	if r := m.current(); len(names) == 0 && r != nil {
		names = []string{r.Name}
	}
	return names
}

// outdated returns the images that are not as their recipes say.
func (m *Model) outdated() []string {
	var names []string
	for _, r := range m.rows {
		if r.State != bakery.Fresh && !r.working() {
			names = append(names, r.Name)
		}
	}
	return names
}
