#!/usr/bin/perl
# records.pl: prints the records of a spider, a line each, as "lccrec --tsv" does. lcc-spider(5) describes the record.
#
#     perl records.pl <stream
#
# Exit status 65 at the first byte that cannot be of a record, with its offset. A document is never held in memory.
use strict;
use warnings;
use Compress::Zlib qw(crc32);

binmode STDIN;
my $offset = 0;
my %reason = map { $_ => 1 } 0, 2, 10 .. 17, 20 .. 23, 30 .. 36, 40 .. 45, 50 .. 55, 60, 63;
# First and last status of a row, the byte of the first, the byte of all others of its hundred.
my @rows = ([100, 103, 1, 9], [200, 208, 20, 19], [300, 308, 30, 39], [400, 451, 40, 92], [500, 511, 100, 119]);

sub bad {
    my ($at, $what) = @_;
    $| = 1;
    print STDERR "records.pl: byte $at: $what\n";
    exit 65;
}

# Exactly n bytes; nothing: the stream ended before the first of them, where that is permitted.
sub get {
    my ($n, $may_end) = @_;
    my $bytes = '';
    while (length $bytes < $n) {
        my $read = read STDIN, $bytes, $n - length $bytes, length $bytes;
        die "records.pl: $!\n" unless defined $read;
        last if $read == 0;
    }
    $offset += length $bytes;
    return $bytes if length $bytes == $n;
    bad($offset, 'the stream ends inside of a record') if length $bytes > 0 || !$may_end;
    return;
}

sub check_scheme {
    my ($url, $at) = @_;
    my ($scheme) = $url =~ /\A([A-Za-z][A-Za-z0-9+.-]*)/;
    my $length = length($scheme // '');
    bad($at + $length, 'the url begins with no scheme') if $length == 0 || substr($url, $length, 1) ne ':';
}

sub http {
    my ($byte) = @_;
    my %alone = (0 => '-', 29 => '226', 253 => '0.9', 254 => 'other');
    return $alone{$byte} if exists $alone{$byte};
    for (@rows) {
        my ($first, $last, $own, $others) = @$_;
        return int($first / 100) . 'xx' if $byte == $others;
        return $first + $byte - $own if $byte >= $own && $byte <= $own + $last - $first;
    }
    return "#$byte";
}

sub printed {
    my ($url) = @_;
    $url =~ s/([^!-~])/sprintf '%%%02X', ord $1/ge;
    return $url;
}

while (defined(my $head = get(20, 1))) {
    my $start = $offset - 20;
    my ($id, $success, $end, $http, $padding, $ms, $url_len, $new_len, $doc_len) = unpack 'N C4 N n n N', $head;
    bad($start + 4, 'success is not 0 or 1') if $success > 1;
    bad($start + 5, 'the reason is reserved') unless $reason{$end & 0x3f};
    bad($start + 7, 'the padding is not 0') if $padding != 0;
    bad($start + 12, 'there is no url') if $url_len == 0;
    my $urls = get($url_len + $new_len, 0);
    my ($url, $new) = (substr($urls, 0, $url_len), substr($urls, $url_len));
    check_scheme($url, $start + 20);
    check_scheme($new, $start + 20 + $url_len) if $new_len > 0;
    my $crc = crc32('');
    for (my $left = $doc_len; $left > 0;) {
        my $part = get($left < 65536 ? $left : 65536, 0);
        $crc = crc32($part, $crc);
        $left -= length $part;
    }
    my $flags = ('-', 'c', 'r', 'rc')[$end >> 6];
    printf "%u\t%d\t%d\t%s\t%s\t%u\t%u\t%08x\t%s\t%s\n",
        $id, $success, $end & 0x3f, $flags, http($http), $ms, $doc_len, $crc, printed($url), printed($new);
}
