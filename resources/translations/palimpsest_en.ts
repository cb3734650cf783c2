<?xml version="1.0" encoding="utf-8"?>
<!DOCTYPE TS>
<TS version="2.1" language="en_US" sourcelanguage="en">
<context>
    <name>palimpsest::ui::Composer</name>
    <message numerus="yes">
        <source>and %n more</source>
        <translation>
            <numerusform>and %n more</numerusform>
            <numerusform>and %n more</numerusform>
        </translation>
    </message>
</context>
<context>
    <name>palimpsest::ui::DamageQuestion</name>
    <message numerus="yes">
        <source>It has %n session(s). They are read again when they are opened; what came after the backup is only in the damaged file.</source>
        <translation>
            <numerusform>It has %n session, which is read again when it is opened; what came after the backup is only in the damaged file.</numerusform>
            <numerusform>It has %n sessions, which are read again when they are opened; what came after the backup is only in the damaged file.</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>%n session(s)</source>
        <translation>
            <numerusform>%n session</numerusform>
            <numerusform>%n sessions</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>%n document(s)</source>
        <translation>
            <numerusform>%n document</numerusform>
            <numerusform>%n documents</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>%n message(s)</source>
        <translation>
            <numerusform>%n message</numerusform>
            <numerusform>%n messages</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>%n part(s) are lost, and named afterwards.</source>
        <translation>
            <numerusform>%n part is lost, and named afterwards.</numerusform>
            <numerusform>%n parts are lost, and named afterwards.</numerusform>
        </translation>
    </message>
</context>
<context>
    <name>palimpsest::ui::DocumentPage</name>
    <message numerus="yes">
        <source>%n token(s)</source>
        <translation>
            <numerusform>%n token</numerusform>
            <numerusform>%n tokens</numerusform>
        </translation>
    </message>
</context>
<context>
    <name>palimpsest::ui::DocumentPainter</name>
    <message numerus="yes">
        <source>%n token(s) of framing</source>
        <translation>
            <numerusform>%n token of framing</numerusform>
            <numerusform>%n tokens of framing</numerusform>
        </translation>
    </message>
</context>
<context>
    <name>palimpsest::ui::EngineThread</name>
    <message numerus="yes">
        <source>%n document(s) were added to the library.</source>
        <translation>
            <numerusform>%n document was added to the library.</numerusform>
            <numerusform>%n documents were added to the library.</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>%n were there before.</source>
        <translation>
            <numerusform>%n was there before.</numerusform>
            <numerusform>%n were there before.</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>%n could not be read, the first because: %1</source>
        <translation>
            <numerusform>%n could not be read: %1</numerusform>
            <numerusform>%n could not be read, the first because: %1</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>%n other file(s) in the folders were left out.</source>
        <translation>
            <numerusform>%n other file in the folders was left out.</numerusform>
            <numerusform>%n other files in the folders were left out.</numerusform>
        </translation>
    </message>
</context>
<context>
    <name>palimpsest::ui::FindBar</name>
    <message numerus="yes">
        <source>%n match(es)</source>
        <translation>
            <numerusform>%n match</numerusform>
            <numerusform>%n matches</numerusform>
        </translation>
    </message>
</context>
<context>
    <name>palimpsest::ui::HitsPanel</name>
    <message numerus="yes">
        <source>%n message(s)</source>
        <translation>
            <numerusform>%n message</numerusform>
            <numerusform>%n messages</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>the first %n message(s)</source>
        <translation>
            <numerusform>the first message (%n)</numerusform>
            <numerusform>the first %n messages</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>%n passage(s)</source>
        <translation>
            <numerusform>%n passage</numerusform>
            <numerusform>%n passages</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>%n damaged session(s) left out.</source>
        <translation>
            <numerusform>%n damaged session left out.</numerusform>
            <numerusform>%n damaged sessions left out.</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>%n document(s) are not indexed yet. Their passages are not found.</source>
        <translation>
            <numerusform>%n document is not indexed yet. Its passages are not found.</numerusform>
            <numerusform>%n documents are not indexed yet. Their passages are not found.</numerusform>
        </translation>
    </message>
</context>
<context>
    <name>palimpsest::ui::LibraryModel</name>
    <message numerus="yes">
        <source>%n session(s)</source>
        <translation>
            <numerusform>%n session</numerusform>
            <numerusform>%n sessions</numerusform>
        </translation>
    </message>
</context>
<context>
    <name>palimpsest::ui::MessageLayout</name>
    <message numerus="yes">
        <source>Show all %n line(s)</source>
        <translation>
            <numerusform>Show %n line</numerusform>
            <numerusform>Show all %n lines</numerusform>
        </translation>
    </message>
</context>
<context>
    <name>palimpsest::ui::OutlinePage</name>
    <message numerus="yes">
        <source>%n note(s)</source>
        <translation>
            <numerusform>%n note</numerusform>
            <numerusform>%n notes</numerusform>
        </translation>
    </message>
</context>
<context>
    <name>palimpsest::ui::StatusLine</name>
    <message numerus="yes">
        <source>%n waiting</source>
        <translation>
            <numerusform>%n waiting</numerusform>
            <numerusform>%n waiting</numerusform>
        </translation>
    </message>
</context>
<context>
    <name>palimpsest::ui::TurnList</name>
    <message numerus="yes">
        <source>%1 of %2 tokens read</source>
        <translation>
            <numerusform>%1 of %2 tokens read</numerusform>
            <numerusform>%1 of %2 tokens read</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>%1 kept per head</source>
        <translation>
            <numerusform>%1 kept per head</numerusform>
            <numerusform>%1 kept per head</numerusform>
        </translation>
    </message>
</context>
</TS>
