package summary

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"math"
	"time"
)

// summaryCacheForm begins the cache of summaries. Its number must change with the fields of
// a Summary and with the data from which they are made.
const summaryCacheForm = "aibox summaries 4\n"

// The cache is decoded for each list, and encoding/json takes longer for a thousand
// summaries than everything else that a list does.

// encodeSummaries encodes summaries: the form, the checksum of the rest, their number, and
// their fields.
func encodeSummaries(all cachedSummaries) []byte {
	e := &summaryEncoder{out: binary.AppendUvarint(nil, uint64(len(all.summaries)))}
	for i := range all.summaries {
		all.fields(i, e)
	}
	out := binary.BigEndian.AppendUint32([]byte(summaryCacheForm), crc32.ChecksumIEEE(e.out))
	return append(out, e.out...)
}

// decodeSummaries decodes the result of encodeSummaries. The result is empty if data is
// damaged or has another form.
func decodeSummaries(data []byte) (all cachedSummaries) {
	data, ok := bytes.CutPrefix(data, []byte(summaryCacheForm))
	if !ok || len(data) < crc32.Size {
		return all
	}
	sum, data := binary.BigEndian.Uint32(data), data[crc32.Size:]
	if sum != crc32.ChecksumIEEE(data) {
		return all
	}
	d := &summaryDecoder{data: string(data)} // one string that contains all fields
	count := d.uvarint()
	if count > uint64(len(data)) { // each summary has many bytes
		return all
	}
	all = cachedSummaries{make([]stateVersion, count), make([]Summary, count)}
	for i := range all.summaries {
		all.fields(i, d)
	}
	if d.failed {
		return cachedSummaries{}
	}
	return all
}

// summaryCodec encodes or decodes one field at a time.
type summaryCodec interface {
	text(field *string)
	number(field *int64)
	count(field *int)
	float(field *float64)
	flag(field *bool)
	time(field *time.Time)
}

// fields passes every field of the summary at index i to codec, always in the same order.
func (c *cachedSummaries) fields(i int, codec summaryCodec) {
	version, s := &c.versions[i], &c.summaries[i]
	codec.number(&version.inode)
	codec.number(&version.changed)
	codec.text((*string)(&s.ID))
	codec.time(&s.Created)
	codec.text(&s.Agent)
	codec.text(&s.Template)
	codec.flag(&s.Interactive)
	codec.text(&s.Repository)
	codec.text(&s.Branch)
	codec.text(&s.Task)
	codec.text((*string)(&s.Phase))
	codec.text((*string)(&s.Batch))
	codec.time(&s.Started)
	codec.time(&s.Ended)
	codec.text((*string)(&s.Review))
	codec.text((*string)(&s.ContinuedBy))
	codec.flag(&s.Failed)
	codec.flag(&s.Changed)
	codec.flag(&s.Unknown)
	codec.count(&s.Files)
	codec.count(&s.Added)
	codec.count(&s.Deleted)
	codec.count(&s.Refused)
	codec.count(&s.Tokens)
	codec.flag(&s.Uncounted)
	codec.float(&s.Cost)
	codec.count(&s.Unpriced)
	codec.time(&s.Deadline)
	codec.count(&s.Waiting)
	codec.flag(&s.Prompting)
	codec.count(&s.Position)
	codec.text(&s.Queue)
	codec.flag(&s.Paused)
	codec.number(&s.Done)
}

// summaryEncoder appends fields to out.
type summaryEncoder struct{ out []byte }

func (e *summaryEncoder) text(field *string) {
	e.out = append(binary.AppendUvarint(e.out, uint64(len(*field))), *field...)
}

func (e *summaryEncoder) number(field *int64) { e.out = binary.AppendVarint(e.out, *field) }

func (e *summaryEncoder) count(field *int) { e.out = binary.AppendVarint(e.out, int64(*field)) }

func (e *summaryEncoder) float(field *float64) {
	bits := int64(math.Float64bits(*field)) //nolint:gosec // the same bits
	e.number(&bits)
}

func (e *summaryEncoder) flag(field *bool) {
	if *field {
		e.out = append(e.out, 1)
	} else {
		e.out = append(e.out, 0)
	}
}

// time appends zeros for the zero time. Zones are not
// kept: records have UTC.
func (e *summaryEncoder) time(field *time.Time) {
	var seconds, nanoseconds int64
	if !field.IsZero() {
		seconds, nanoseconds = field.Unix(), int64(field.Nanosecond())
	}
	e.number(&seconds)
	e.number(&nanoseconds)
}

// summaryDecoder reads fields from data. After an error, all fields are zero.
type summaryDecoder struct {
	data   string
	failed bool
}

func (d *summaryDecoder) fail() { d.data, d.failed = "", true }

func (d *summaryDecoder) uvarint() uint64 {
	var v uint64
	for i, shift := 0, 0; i < len(d.data) && shift < 64; i, shift = i+1, shift+7 {
		c := d.data[i]
		v |= uint64(c&0x7f) << shift
		if c < 0x80 {
			d.data = d.data[i+1:]
			return v
		}
	}
	d.fail()
	return 0
}

func (d *summaryDecoder) take(n uint64) string {
	if n > uint64(len(d.data)) {
		d.fail()
		return ""
	}
	taken := d.data[:n]
	d.data = d.data[n:]
	return taken
}

func (d *summaryDecoder) text(field *string) { *field = d.take(d.uvarint()) }

func (d *summaryDecoder) number(field *int64) {
	u := d.uvarint()
	*field = int64(u>>1) ^ -int64(u&1)
}

func (d *summaryDecoder) count(field *int) {
	var n int64
	d.number(&n)
	*field = int(n)
}

func (d *summaryDecoder) float(field *float64) {
	var bits int64
	d.number(&bits)
	*field = math.Float64frombits(uint64(bits)) //nolint:gosec // the same bits
}

func (d *summaryDecoder) flag(field *bool) { *field = d.take(1) == "\x01" }

func (d *summaryDecoder) time(field *time.Time) {
	var seconds, nanoseconds int64
	d.number(&seconds)
	d.number(&nanoseconds)
	if seconds != 0 || nanoseconds != 0 {
		*field = time.Unix(seconds, nanoseconds).UTC()
	}
}
