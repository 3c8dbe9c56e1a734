"""Histories as TonY writes them: Avro files of events."""

FIELD = '{"name": "%s", "type": %s}'
RECORD = '{"type": "record", "name": "%s", "fields": [%s]}'
STARTED = RECORD % ("TaskStarted", ", ".join((FIELD % ("taskType", '"string"'), FIELD % ("taskIndex", '"int"'),
                                              FIELD % ("host", '"string"'), FIELD % ("containerID", '"string"'))))
ENDED = RECORD % ("TaskFinished", ", ".join((FIELD % ("taskType", '"string"'), FIELD % ("taskIndex", '"int"'),
                                             FIELD % ("status", '"string"'))))
EVENT = RECORD % ("Event", ", ".join((
    FIELD % ("type", '{"type": "enum", "name": "EventType", "symbols": ["TASK_STARTED", "TASK_FINISHED"]}'),
    FIELD % ("event", f"[{STARTED}, {ENDED}]"), FIELD % ("timestamp", '"long"'))))


def avro_long(value):
    value, out = value << 1, b""
    while value > 0x7f:
        out, value = out + bytes([value & 0x7f | 0x80]), value >> 7
    return out + bytes([value])


def avro_text(text):
    return avro_long(len(text)) + text.encode()


def avro_event(kind, time_ms, *fields):
    return (avro_long(kind) * 2 + b"".join(avro_text(field) if isinstance(field, str) else avro_long(field)
                                           for field in fields) + avro_long(time_ms))


def avro_file(schema, records):
    body, sync = b"".join(records), b"0123456789abcdef"
    return (b"Obj\1" + avro_long(1) + avro_text("avro.schema") + avro_text(schema) + avro_long(0) + sync +
            avro_long(len(records)) + avro_long(len(body)) + body + sync)


def started(time_ms, name, index, host, container=""):
    return avro_event(0, time_ms, name, index, host, container)


def finished(time_ms, name, index, status):
    return avro_event(1, time_ms, name, index, status)


def jhist(*events):
    """The bytes of a .jhist file."""
    return avro_file(EVENT, events)
