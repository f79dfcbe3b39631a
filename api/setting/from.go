package setting

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	aiboxv1 "aibox/api/aibox/v1"
	"aibox/config"
	"aibox/internal/fault"
)

// FromDuration returns a length of time of the schema; 0 for nil. An invalid or negative
// one is a Usage fault that names field.
func FromDuration(field string, d *durationpb.Duration) (time.Duration, error) {
	if d == nil {
		return 0, nil
	}
	if err := d.CheckValid(); err != nil || d.AsDuration() < 0 {
		return 0, fault.New(fault.Usage, "%s is not a length of time that is 0 or more", field)
	}
	return d.AsDuration(), nil
}

// FromFilters returns the metadata that a list is filtered by, from KEY=VALUE entries of the
// schema.
func FromFilters(entries []string) (map[string]string, error) {
	metadata := map[string]string{}
	for _, entry := range entries {
		key, value, ok := strings.Cut(entry, "=")
		if !ok || key == "" {
			return nil, fault.New(fault.Usage, "a filter for metadata is KEY=VALUE, not %q", entry)
		}
		if earlier, ok := metadata[key]; ok && earlier != value {
			return nil, fault.New(fault.Usage, "the filters for the metadata %q contradict each other", key)
		}
		metadata[key] = value
	}
	return metadata, nil
}

// Reader reads settings from the fields of a request. Absent fields give nothing. After a
// mistake it reads nothing further. The zero value has read nothing.
type Reader struct {
	given config.RunOverrides
	err   error
}

// Result returns the settings that were given, and the first mistake as a Usage fault.
func (r *Reader) Result() (config.RunOverrides, error) { return r.given, r.err }

// Text reads the value of a setting; "" sets nothing.
func (r *Reader) Text(key, value string) {
	if r.err == nil && value != "" {
		r.err = r.given.Set(key, value)
	}
}

// Duration reads a length of time from a field.
func (r *Reader) Duration(key, field string, d *durationpb.Duration) {
	if d == nil || r.err != nil {
		return
	}
	value, err := FromDuration(field, d)
	if r.err = err; err == nil {
		r.Text(key, value.String())
	}
}

// Network reads the mode, the lists and the bounds of traffic.
func (r *Reader) Network(p *aiboxv1.NetworkPolicy) {
	if p == nil {
		return
	}
	if mode := p.GetMode(); mode != aiboxv1.NetworkMode_NETWORK_MODE_UNSPECIFIED {
		name, ok := Modes[mode]
		if !ok && r.err == nil {
			r.err = fault.New(fault.Usage, "%d is not a network mode", mode).Hint("leave it out, or use none, local, allowlist or public")
		}
		r.Text("network", name)
	}
	r.hosts("allow", p.Allow)
	r.hosts("deny", p.Deny)
	r.number("egress-upload", p.UploadMib)
	r.number("egress-download", p.DownloadMib)
	r.number("egress-upload-host", p.UploadMibPerHost)
	r.number("egress-download-host", p.DownloadMibPerHost)
}

// Limits reads the limits of a sandbox.
func (r *Reader) Limits(l *aiboxv1.Limits) {
	if l == nil {
		return
	}
	r.number("memory", l.MemoryMib)
	if l.Cpus != nil {
		r.numeral("cpus", strconv.FormatFloat(l.GetCpus(), 'f', -1, 64))
	}
	if l.Processes != nil {
		r.numeral("pids", strconv.Itoa(int(l.GetProcesses())))
	}
}

// Further reads settings by their names. One that was already given is a mistake, whatever
// its value.
func (r *Reader) Further(given map[string]string) {
	for _, key := range slices.Sorted(maps.Keys(given)) {
		if r.err == nil && r.given.Has(key) {
			r.err = fault.New(fault.Usage, "the setting %s is given twice, in settings and in a field of its own", key)
		}
		if r.err == nil {
			r.err = r.given.Set(key, given[key])
		}
	}
}

// hosts reads a list of hosts. An empty list is a value.
func (r *Reader) hosts(key string, list *aiboxv1.HostList) {
	if r.err == nil && list != nil {
		r.err = r.given.SetWords(key, list.GetHosts())
	}
}

func (r *Reader) number(key string, n *int64) {
	if n != nil {
		r.numeral(key, strconv.FormatInt(*n, 10))
	}
}

// numeral reads the digits of a number.
func (r *Reader) numeral(key, digits string) {
	if r.err == nil {
		r.err = r.given.SetNumber(key, digits)
	}
}
