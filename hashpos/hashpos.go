// Package hashpos turns a name into the place its directory entry takes in
// readdir order: the d_off that getdents reports and seekdir goes back to.
//
// The idea is Eric Biederman's for sysfs (2012): order a directory by a hash of
// the names and let the hash be the position, so that one tree serves lookup and
// readdir and a scan restarts anywhere without a cursor. The kernel gives equal
// hashes equal positions, which makes scans lose or repeat entries. Here a hash
// owns a bucket of positions instead, one for each name that has it.
package hashpos

// Pos is a readdir position. It is never negative as an off_t.
//
// Positions are ordered as numbers: first what the caller reserves, below First;
// then the low ranges of all buckets, by bucket; then their high ranges, again by
// bucket. Inside a range the order is that of the ties. Low ranges stay below
// 2^31-1: telldir works where long has 32 bits, and INT_MAX, the kernel's
// mark for the end of a sysfs directory, is nobody's position.
type Pos uint64

// The positions that do not depend on a name. Those from DotDot to First are for
// entries that a directory has besides its index.
const (
	Start  Pos = 0
	Dot    Pos = 1
	DotDot Pos = 2
	First  Pos = 1 << 17
)

// The bits of a position that tell names of one bucket apart. Ties below 16 are
// enough for chance: of a million names some 3,700 pairs share a bucket, hardly
// ever five names do. Ties of 32 bits are enough for malice.
const (
	lowTieBits  = 4
	highTieBits = 32
)

// Buckets in use: none that reaches below First, nor the one that holds INT_MAX.
const (
	firstBucket = uint64(First >> lowTieBits)
	lastBucket  = uint64(1<<31>>lowTieBits) - 2
	buckets     = lastBucket - firstBucket + 1
)

// Bucket is the set of positions that names of one hash share: a low range,
// taken first, and a high range for what finds the low one full.
type Bucket uint32

// Low returns the 16 positions below 2^31-1 that b owns.
func (b Bucket) Low() Range { return b.span(lowTieBits) }

// High returns the 2^32 positions above 2^31 and below 2^63 that b owns. They
// outnumber the names a directory can have.
func (b Bucket) High() Range { return b.span(highTieBits) }

func (b Bucket) span(tieBits uint) Range {
	return Range{Lo: Pos(b) << tieBits, Hi: Pos(b+1) << tieBits}
}

// Range is the positions p with Lo <= p < Hi.
type Range struct{ Lo, Hi Pos }

// Contains tells whether p is in r.
func (r Range) Contains(p Pos) bool { return r.Lo <= p && p < r.Hi }

// IsHigh tells whether p is in the high range of its bucket.
func (p Pos) IsHigh() bool { return p >= 1<<31 }

// Bucket returns the bucket that owns p.
//
// Preconditions: a bucket owns p; those below First have none.
func (p Pos) Bucket() Bucket {
	if p.IsHigh() {
		return Bucket(p >> highTieBits)
	}
	return Bucket(p >> lowTieBits)
}
