-- Wireshark dissector for XSTP and for the datagrams of its secure association.
--
-- Copy it into the directory of personal Lua plugins (Help, About, Folders), or
--   tshark -X lua_script:xstp.lua -r capture.pcapng
-- XSTP is looked for on UDP port 25300 and in IP protocol 253.

local xstp = Proto("xstp", "Extended Satellite Transport Protocol")

local f = {
  source = ProtoField.uint16("xstp.srcport", "Source port"),
  destination = ProtoField.uint16("xstp.dstport", "Destination port"),
  version = ProtoField.uint16("xstp.version", "Version", base.DEC, nil, 0xf000),
  kinds = ProtoField.uint16("xstp.type", "Types", base.HEX, nil, 0x0fff),
  window = ProtoField.uint16("xstp.window", "Credit in segments"),
  seq = ProtoField.uint32("xstp.seq", "N(S)"),
  checksum = ProtoField.uint16("xstp.checksum", "Checksum", base.HEX),
  header = ProtoField.uint8("xstp.hdrlen", "Header length in words"),
  sq = ProtoField.uint8("xstp.sq", "Session sequence N(SQ)"),
  mss = ProtoField.uint16("xstp.mss", "MSS"),
  flags = ProtoField.uint8("xstp.begin.flags", "Flags", base.HEX),
  ts = ProtoField.uint32("xstp.ts", "Timestamp in 100 us"),
  echo = ProtoField.uint32("xstp.ts_echo", "Timestamp echoed"),
  reason = ProtoField.uint32("xstp.reason", "Reason", base.DEC, {
    [1] = "no such session", [2] = "aborted by its user", [3] = "protocol error",
    [4] = "no response", [5] = "refused",
  }),
  next = ProtoField.uint32("xstp.next", "N(R)"),
  count = ProtoField.uint16("xstp.gaps", "Number of gaps"),
  more = ProtoField.uint16("xstp.more", "More gaps", base.DEC, nil, 0x0001),
  lower = ProtoField.uint16("xstp.gap.lower", "Gap from"),
  upper = ProtoField.uint16("xstp.gap.upper", "Gap up to"),
  end_ack = ProtoField.uint32("xstp.endak", "N(S) of the END"),
  payload = ProtoField.bytes("xstp.payload", "Payload"),
}
xstp.fields = f

local short = ProtoExpert.new("xstp.short", "Header does not fit its blocks",
  expert.group.MALFORMED, expert.severity.ERROR)
xstp.experts = { short }

local names = {
  { 0x001, "DATA" }, { 0x002, "POLL" }, { 0x004, "STAT" }, { 0x008, "USTAT" }, { 0x010, "BGN" },
  { 0x020, "BGNAK" }, { 0x040, "END" }, { 0x080, "ENDAK" }, { 0x100, "RST" },
}

local function has(kinds, bit)
  return math.floor(kinds / bit) % 2 == 1
end

local function name_of(kinds)
  local found = {}
  for _, row in ipairs(names) do
    if has(kinds, row[1]) then found[#found + 1] = row[2] end
  end
  return table.concat(found, "+")
end

-- Adds the report at `at`; returns where it ends, or nothing if it is cut.
local function report(buffer, tree, at, limit)
  if at + 12 > limit then return nil end
  tree:add(f.echo, buffer(at, 4))
  tree:add(f.next, buffer(at + 4, 4))
  tree:add(f.count, buffer(at + 8, 2))
  tree:add(f.more, buffer(at + 10, 2))
  local count = buffer(at + 8, 2):uint()
  at = at + 12
  if at + 4 * count > limit then return nil end
  for _ = 1, count do
    tree:add(f.lower, buffer(at, 2))
    tree:add(f.upper, buffer(at + 2, 2))
    at = at + 4
  end
  return at
end

function xstp.dissector(buffer, pinfo, root)
  local length = buffer:len()
  if length < 16 then return 0 end
  local word = buffer(4, 2):uint()
  if math.floor(word / 4096) ~= 1 then return 0 end
  local kinds = word % 4096
  local header = 4 * buffer(14, 1):uint()
  pinfo.cols.protocol = "XSTP"
  local tree = root:add(xstp, buffer())
  tree:add(f.source, buffer(0, 2))
  tree:add(f.destination, buffer(2, 2))
  tree:add(f.version, buffer(4, 2))
  tree:add(f.kinds, buffer(4, 2)):append_text(" (" .. name_of(kinds) .. ")")
  tree:add(f.window, buffer(6, 2))
  tree:add(f.seq, buffer(8, 4))
  tree:add(f.checksum, buffer(12, 2))
  tree:add(f.header, buffer(14, 1))
  tree:add(f.sq, buffer(15, 1))
  local limit = math.min(header, length)
  local at = 16
  if has(kinds, 0x010) or has(kinds, 0x020) then
    if at + 12 <= limit then
      tree:add(f.mss, buffer(at, 2))
      tree:add(f.flags, buffer(at + 2, 1))
      tree:add(f.ts, buffer(at + 4, 4))
      tree:add(f.echo, buffer(at + 8, 4))
      at = at + 12
    end
  elseif has(kinds, 0x100) then
    if at + 4 <= limit then
      tree:add(f.reason, buffer(at, 4))
      at = at + 4
    end
  else
    if has(kinds, 0x002) and at + 4 <= limit then
      tree:add(f.ts, buffer(at, 4))
      at = at + 4
    end
    if has(kinds, 0x004) or has(kinds, 0x008) then
      at = report(buffer, tree, at, limit) or -1
    end
    if at > 0 and has(kinds, 0x080) and at + 4 <= limit then
      tree:add(f.end_ack, buffer(at, 4))
      at = at + 4
    end
  end
  if at ~= header then tree:add_proto_expert_info(short) end
  if header < length then tree:add(f.payload, buffer(header)) end
  pinfo.cols.info = string.format("%d > %d %s N(S)=%d Len=%d", buffer(0, 2):uint(),
    buffer(2, 2):uint(), name_of(kinds), buffer(8, 4):uint(), math.max(length - header, 0))
  return length
end

local assoc = Proto("bentpipe", "Bentpipe secure association")

local a = {
  kind = ProtoField.uint8("bentpipe.kind", "Kind", base.HEX, {
    [1] = "request", [2] = "answer", [3] = "cookie", [4] = "data",
    [0x11] = "request, readable", [0x12] = "answer, readable", [0x13] = "cookie, readable",
    [0x14] = "data, readable",
  }),
  sender = ProtoField.uint24("bentpipe.sender", "Index of the sender", base.HEX),
  receiver = ProtoField.uint24("bentpipe.receiver", "Index of the receiver", base.HEX),
  number = ProtoField.uint24("bentpipe.number", "Packet number, lower 24 bits"),
  noise = ProtoField.bytes("bentpipe.noise", "Noise message"),
  mac1 = ProtoField.bytes("bentpipe.mac1", "mac1"),
  mac2 = ProtoField.bytes("bentpipe.mac2", "mac2"),
  cookie = ProtoField.bytes("bentpipe.cookie", "Cookie"),
  sealed = ProtoField.bytes("bentpipe.sealed", "Ciphertext and tag"),
  tag = ProtoField.bytes("bentpipe.tag", "Tag"),
  connection = ProtoField.uint32("bentpipe.connection", "Connection"),
  control = ProtoField.uint8("bentpipe.control", "Message", base.DEC, {
    [1] = "no such connection", [2] = "refused", [3] = "marks seen", [4] = "probe",
    [5] = "probe arrived", [6] = "half a datagram", [7] = "received", [8] = "parity will come",
    [9] = "parity", [10] = "path probe", [11] = "path probe answered", [12] = "application's datagram",
    [13] = "shutdown", [14] = "challenge", [15] = "challenge answered", [16] = "capacity probe",
    [17] = "capacity report",
  }),
  flags = ProtoField.uint8("bentpipe.flags", "Flags", base.HEX),
  low = ProtoField.uint24("bentpipe.seq", "N(S), lower 24 bits"),
  received = ProtoField.uint24("bentpipe.received_at", "When the POLL came (100 µs, lower 24 bits)"),
  gaps = ProtoField.uint16("bentpipe.gaps", "Number of gaps"),
}
assoc.fields = a

local cut = ProtoExpert.new("bentpipe.cut", "Datagram ends too early",
  expert.group.MALFORMED, expert.severity.ERROR)
assoc.experts = { cut }

local kinds_of_datagrams = { "Request", "Answer", "Cookie", "Data" }
local shortest = { 1 + 3 + 96 + 32, 1 + 6 + 48, 1 + 3 + 16, 1 + 6 + 16 }

-- The number at `at`, seven bits a byte, the lowest first, and where it ends; nothing if it is cut.
local function number(buffer, at, limit)
  local value, unit = 0, 1
  while at < limit do
    local byte = buffer(at, 1):uint()
    value = value + byte % 128 * unit
    at = at + 1
    if byte < 128 then return value, at end
    unit = unit * 128
  end
  return nil
end

-- The report of a compressed header at `at`; returns where it ends, or nothing if it is cut.
local function compact_report(buffer, tree, at, limit, is_stat, is_timed)
  local fixed = 6 + (is_stat and 4 or 0) + (is_timed and 3 or 0)
  if at + fixed > limit then return nil end
  tree:add(f.window, buffer(at, 2))
  if is_stat then tree:add(f.echo, buffer(at + 2, 4)) end
  if is_timed then tree:add(a.received, buffer(at + 6, 3)) end
  tree:add(f.next, buffer(at + fixed - 4, 4))
  at = at + fixed
  local count, after = number(buffer, at, limit)
  if not count then return nil end
  tree:add(a.gaps, buffer(at, after - at), count)
  at = after
  local edge = 0
  for _ = 1, count do
    local start, lower, upper = at, nil, nil
    lower, at = number(buffer, at, limit)
    if not lower then return nil end
    upper, at = number(buffer, at, limit)
    if not upper then return nil end
    tree:add(f.lower, buffer(start, at - start), edge + lower)
    edge = edge + lower + upper
    tree:add(f.upper, buffer(start, at - start), edge)
  end
  return at
end

-- What is inside a readable data datagram; returns what to say of it, or nothing if it is cut.
local function inside(buffer, pinfo, root, tree, at, limit)
  if at == limit then return "sign of life" end
  local connection, after = number(buffer, at, limit)
  if not connection then return nil end
  tree:add(a.connection, buffer(at, after - at), connection)
  at = after
  if at == limit then return nil end
  if connection == 0 then
    tree:add(a.control, buffer(at, 1))
    return "message " .. buffer(at, 1):uint()
  end
  local flags = buffer(at, 1):uint()
  tree:add(a.flags, buffer(at, 1))
  if has(flags, 0x10) then
    xstp.dissector(buffer(at + 1, limit - at - 1):tvb(), pinfo, root)
    return "whole segment"
  end
  if at + 4 > limit then return nil end
  tree:add(a.low, buffer(at + 1, 3))
  local said = string.format("N(S)=%d", buffer(at + 1, 3):uint())
  at = at + 4
  if has(flags, 0x02) then
    if at + 4 > limit then return nil end
    tree:add(f.ts, buffer(at, 4))
    at = at + 4
    said = "POLL " .. said
  end
  if has(flags, 0x04) or has(flags, 0x08) then
    local is_stat = has(flags, 0x04)
    local is_timed = is_stat and has(flags, 0x08)
    at = compact_report(buffer, tree, at, limit, is_stat, is_timed)
    if not at then return nil end
    said = (is_stat and "STAT " or "USTAT ") .. said
  end
  if has(flags, 0x80) then
    if at + 4 > limit then return nil end
    tree:add(f.end_ack, buffer(at, 4))
    at = at + 4
    said = "ENDAK " .. said
  end
  if has(flags, 0x40) then said = "END " .. said end
  if has(flags, 0x01) then
    if at == limit then return nil end
    tree:add(f.payload, buffer(at, limit - at))
    said = "DATA " .. said
  elseif at ~= limit then
    return nil
  end
  return said
end

function assoc.dissector(buffer, pinfo, root)
  local length = buffer:len()
  if length < 1 then return 0 end
  local kind = buffer(0, 1):uint()
  local readable = kind > 0x10
  if readable then kind = kind - 0x10 end
  if not shortest[kind] or length < shortest[kind] then return 0 end
  pinfo.cols.protocol = "Bentpipe"
  local tree = root:add(assoc, buffer())
  tree:add(a.kind, buffer(0, 1))
  local said = ""
  if kind == 1 then
    tree:add(a.sender, buffer(1, 3))
    tree:add(a.noise, buffer(4, length - 36))
    tree:add(a.mac1, buffer(length - 32, 16))
    tree:add(a.mac2, buffer(length - 16, 16))
  elseif kind == 2 then
    tree:add(a.sender, buffer(1, 3))
    tree:add(a.receiver, buffer(4, 3))
    tree:add(a.noise, buffer(7))
  elseif kind == 3 then
    tree:add(a.receiver, buffer(1, 3))
    tree:add(a.cookie, buffer(4))
  else
    tree:add(a.receiver, buffer(1, 3))
    tree:add(a.number, buffer(4, 3))
    if readable then
      tree:add(a.tag, buffer(length - 16, 16))
      said = inside(buffer, pinfo, root, tree, 7, length - 16)
      if not said then tree:add_proto_expert_info(cut) end
      said = " " .. (said or "cut")
    else
      tree:add(a.sealed, buffer(7))
    end
  end
  pinfo.cols.info = kinds_of_datagrams[kind] .. said .. " Len=" .. length
  return length
end

-- Both share the port. A datagram of an association begins with its kind, a segment with a port: none
-- from 256 to 1279. A readable datagram may begin like a segment, which has more to show: its version, types
-- that go together and the header that they need.
local function is_segment(buffer)
  local length = buffer:len()
  if length < 16 then return false end
  local word = buffer(4, 2):uint()
  local kinds = word % 4096
  local header = 4 * buffer(14, 1):uint()
  if math.floor(word / 4096) ~= 1 or header > length then return false end
  if has(kinds, 0x001) ~= (header < length) then return false end
  if kinds == 0x010 or kinds == 0x020 then return header == 28 end
  if kinds == 0x100 then return header == 20 end
  if kinds == 0 or kinds % 0x040 >= 0x010 or kinds >= 0x100 then return false end
  if has(kinds, 0x004) and has(kinds, 0x008) or has(kinds, 0x001) and has(kinds, 0x040) then return false end
  local least = 16 + (has(kinds, 0x002) and 4 or 0) + (has(kinds, 0x080) and 4 or 0)
  if has(kinds, 0x004) or has(kinds, 0x008) then return header >= least + 12 end
  return header == least
end

local both = Proto("bentpipe_udp", "Bentpipe over UDP")
function both.dissector(buffer, pinfo, root)
  local first = buffer:len() > 0 and buffer(0, 1):uint() or 0
  local kind = first % 16 >= 1 and first % 16 <= 4
  local readable = first > 0x10 and first < 0x20 and not is_segment(buffer)
  if kind and (first < 0x10 or readable) then return assoc.dissector(buffer, pinfo, root) end
  return xstp.dissector(buffer, pinfo, root)
end

DissectorTable.get("udp.port"):add(25300, both)
DissectorTable.get("udp.port"):add_for_decode_as(both)
DissectorTable.get("ip.proto"):add(253, xstp)
